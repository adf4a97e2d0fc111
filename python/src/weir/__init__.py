# SPDX-License-Identifier: Apache-2.0
"""Weir: an out-of-order processor for compute kernels.

A program submits tasks in order and says what each reads and writes. Weir finds which may overlap, and runs them on the
context's devices, with the results of running them one at a time.

    import numpy as np
    import weir

    with weir.Context("cpu") as context:
        a, b = context.array(np.arange(1000.0)), context.buffer(1000, np.float64)

        def double(source, out):
            out[:] = 2 * source

        context.submit(double, weir.read(a), weir.write(b))
        print(b.numpy().sum())

docs/tutorials/python.md is a first program, and docs/guide/python.md has the whole interface.
"""

from typing import TYPE_CHECKING, Any, Dict, List

from weir import _core
from weir._array import Buffer
from weir._context import Context
from weir._core import Access, auto, commute, read, update, write
from weir._errors import (
    CLASSES as _CLASSES,
)
from weir._errors import (
    CancelledError,
    DeviceLostError,
    Error,
    FileError,
    InvalidArgumentError,
    NoCodeError,
    OutOfMemoryError,
    OutOfRangeError,
    ReleasedError,
    TaskFailedError,
    TimeoutError,
    UnavailableError,
    UpstreamFailedError,
)
from weir._event import Event
from weir._info import DeviceKind, Info, info

if TYPE_CHECKING:
    from weir._ccode import CCode
    from weir._device import Device
    from weir._graph import Graph, GraphInfo
    from weir._kernel import Cpu, Cuda, Kernel, OpenCL, Vulkan
    from weir._open import DeviceArray, OpenTask
    from weir._pipeline import Pipeline
    from weir._progress import progress
    from weir._split import Block, DeviceRound, Part, Round, Split, block, part
    from weir._timeline import Timeline

_core.set_classes(_CLASSES, Event)

__version__: str = _core.version()

# Modules that are imported when one of their names is used, so that `import weir` takes as little as it can.
_LATER: Dict[str, str] = {
    name: module
    for module, names in {
        "_ccode": "CCode",
        "_device": "Device",
        "_graph": "Graph GraphInfo",
        "_kernel": "Cpu Cuda Kernel OpenCL Vulkan",
        "_open": "DeviceArray OpenTask",
        "_pipeline": "Pipeline",
        "_progress": "progress",
        "_split": "Block DeviceRound Part Round Split block part",
        "_timeline": "Timeline",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = found  # the next use does not come here
    return found


def __dir__() -> List[str]:
    return sorted({*globals(), *_LATER})


def get_include() -> str:
    """The folder of Weir's headers, for extensions in C: `#include <weir/weir.h>`."""
    from weir._ccode import INCLUDE

    return INCLUDE


__all__: List[str] = [
    "Access",
    "Block",
    "Buffer",
    "CCode",
    "CancelledError",
    "Context",
    "Cpu",
    "Cuda",
    "Device",
    "DeviceArray",
    "DeviceKind",
    "DeviceLostError",
    "DeviceRound",
    "Error",
    "Event",
    "FileError",
    "Graph",
    "GraphInfo",
    "Info",
    "InvalidArgumentError",
    "Kernel",
    "NoCodeError",
    "OpenCL",
    "OpenTask",
    "OutOfMemoryError",
    "OutOfRangeError",
    "Part",
    "Pipeline",
    "ReleasedError",
    "Round",
    "Split",
    "TaskFailedError",
    "Timeline",
    "TimeoutError",
    "UnavailableError",
    "UpstreamFailedError",
    "Vulkan",
    "auto",
    "block",
    "commute",
    "get_include",
    "info",
    "part",
    "progress",
    "read",
    "update",
    "write",
]
