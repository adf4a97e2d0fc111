# SPDX-License-Identifier: Apache-2.0
"""Kernels: code of devices under one name."""

import ctypes
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from weir import _core
from weir._errors import InvalidArgumentError, NoCodeError, whole

if TYPE_CHECKING:
    from weir._ccode import CCode
    from weir._context import Context

Size = Union[int, Sequence[int]]


@dataclass(frozen=True)
class Cuda:
    """Code for CUDA devices: `source` (CUDA C++, compiled by NVRTC), or `image` (PTX, a cubin or a fat binary).

    block: threads of a block. function: name in the code, declared extern "C" or mangled; default: the kernel's name.
    shared_bytes: dynamic shared memory. options: of the compiler. groups: written with weir/kernel.h.
    """

    source: Optional[str] = None
    image: Union[None, str, bytes] = None
    block: Size = 1
    function: Optional[str] = None
    shared_bytes: int = 0
    options: Optional[str] = None
    groups: bool = False


@dataclass(frozen=True)
class OpenCL:
    """Code for OpenCL devices: `source` (OpenCL C) or `spirv`.

    local: work-items of a work-group. entry: name of the kernel in the code; default: the kernel's name. local_bytes:
    sizes of the kernel's last arguments, which are of __local memory. exact: round divisions and square roots
    correctly.
    """

    source: Optional[str] = None
    spirv: Optional[bytes] = None
    local: Size = 1
    entry: Optional[str] = None
    local_bytes: Sequence[int] = ()
    options: Optional[str] = None
    exact: bool = False


@dataclass(frozen=True)
class Vulkan:
    """Code for Vulkan devices: SPIR-V. constants: specialization constants by id, NumPy scalars of 4 or 8 bytes."""

    spirv: bytes = b""
    entry: str = "main"
    constants: Mapping[int, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cpu:
    """Code for the CPU device: a compiled function with the signature of weir_function (weir/weir.h).

    function: its address, or a function pointer of ctypes. The context keeps both members until it is closed.
    """

    function: Any
    keep: Any = None


class Kernel(_core.Handle):
    """Code that tasks run: made by Context.kernel. `groups` of a task are its work-groups."""

    __slots__ = ("name",)

    name: str

    def release(self) -> None:
        """Releases the kernel; tasks in flight finish. Happens by itself when it is dropped."""
        super().release()

    def __repr__(self) -> str:
        return f"<weir.Kernel {self.name}>"


def _three(size: Size) -> Tuple[int, int, int]:
    numbers = (size,) if isinstance(size, int) else tuple(size)
    if not 1 <= len(numbers) <= 3 or min(numbers) < 1:
        raise InvalidArgumentError(f"{size!r} is no size of a work-group: one to three numbers of at least 1")
    x, y, z = (whole("the size of a work-group", one) for one in (*numbers, 1, 1)[:3])
    return x, y, z


def _set_cuda(handle: _core.Handle, name: str, code: Cuda) -> None:
    image = code.image.encode() if isinstance(code.image, str) else code.image
    ptx = image is not None and not image.startswith((b"\x7fELF", b"\x50\xed\x55\xba"))
    _core.kernel_set_cuda(
        handle,
        code.source,
        image,
        ptx,
        code.options,
        code.groups,
        code.function or name,
        _three(code.block),
        whole("shared_bytes", code.shared_bytes),
    )


def _set_opencl(handle: _core.Handle, name: str, code: OpenCL) -> None:
    _core.kernel_set_opencl(
        handle,
        code.source,
        code.spirv,
        code.options,
        code.exact,
        code.entry or name,
        _three(code.local),
        tuple(code.local_bytes),
    )


def _constant(key: int, value: Any) -> Tuple[int, bytes]:
    if isinstance(value, (bool, np.bool_)):
        value = np.uint32(value)
    if not isinstance(value, np.generic):
        raise InvalidArgumentError(f"specialization constant {key}: a NumPy scalar says its type, {value!r} does not")
    return whole("the id of a specialization constant", key), value.tobytes()


def _set_cpu(handle: _core.Handle, code: Cpu) -> None:
    address = code.function
    if not isinstance(address, int):
        address = ctypes.cast(address, ctypes.c_void_p).value or 0
    if address == 0:
        raise InvalidArgumentError("the function of a kernel is NULL")
    _core.kernel_set_cpu(handle, address)


def make_kernel(
    context: "Context",
    name: str,
    cpu: Optional[Cpu],
    cuda: Optional[Cuda],
    opencl: Optional[OpenCL],
    vulkan: Optional[Vulkan],
    code: Optional["CCode"],
) -> Kernel:
    """See Context.kernel."""
    for what, given_code, kind in (
        ("cpu", cpu, Cpu),
        ("cuda", cuda, Cuda),
        ("opencl", opencl, OpenCL),
        ("vulkan", vulkan, Vulkan),
    ):
        if given_code is not None and not isinstance(given_code, kind):
            raise TypeError(f"{what} of a kernel is a weir.{kind.__name__}, and not {type(given_code)}")
    if code is not None and not hasattr(code, "for_kinds"):
        raise TypeError(f"code of a kernel is a weir.CCode, and not {type(code)}")
    kinds = {one.kind for one in context.devices}
    kernel = _core.kernel_create(context, name, Kernel)
    kernel.name = name
    if code is not None:
        cpu, cuda, opencl = code.for_kinds(name, kinds, cpu, cuda, opencl)
    given = {"cpu": cpu, "cuda": cuda, "opencl": opencl, "vulkan": vulkan}
    if not any(one is not None and kind in kinds for kind, one in given.items()):
        raise NoCodeError(f"kernel {name!r} has code for none of the context's devices ({', '.join(sorted(kinds))})")
    if cpu is not None and "cpu" in kinds:
        _set_cpu(kernel, cpu)
        context._code.append(cpu)
    if cuda is not None and "cuda" in kinds:
        _set_cuda(kernel, name, cuda)
    if opencl is not None and "opencl" in kinds:
        _set_opencl(kernel, name, opencl)
    if vulkan is not None and "vulkan" in kinds:
        constants = tuple(_constant(key, value) for key, value in vulkan.constants.items())
        _core.kernel_set_vulkan(kernel, vulkan.spirv, vulkan.entry, constants)
    return kernel
