# SPDX-License-Identifier: Apache-2.0
"""Calls of the CUDA driver."""

from __future__ import annotations

import ctypes
import os
from contextlib import contextmanager
from typing import Any, Callable, Iterator

_library: Any = None


def call(name: str, *args: Any) -> None:
    """Calls a function of the driver with arguments of ctypes. Raises RuntimeError unless it succeeds."""
    global _library
    if _library is None:
        _library = ctypes.CDLL(os.environ.get("WEIR_CUDA_DRIVER") or "libcuda.so.1")
    result = getattr(_library, name)(*args)
    if result != 0:
        raise RuntimeError(f"weir.torch: {name} returned {result}")


@contextmanager
def executable(graph: int) -> Iterator[Callable[[int], None]]:
    """What launches a CUgraph as it is now in a stream; an executable graph of its own, which ends with the block."""
    made = ctypes.c_void_p()
    call("cuGraphInstantiateWithFlags", ctypes.byref(made), ctypes.c_void_p(graph), ctypes.c_ulonglong(0))
    try:
        yield lambda stream: call("cuGraphLaunch", made, ctypes.c_void_p(stream))
    finally:
        call("cuGraphExecDestroy", made)
