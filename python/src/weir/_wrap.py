# SPDX-License-Identifier: Apache-2.0
"""Memory of other libraries: what an object's protocols say about it."""

from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Tuple

from weir import _core
from weir._array import check_dtype, full_strides
from weir._errors import InvalidArgumentError, whole

if TYPE_CHECKING:
    import numpy as np
else:
    from weir import _numpy as np

# Device types of DLPack.
_HOST = (1, 3, 11)  # CPU, and pinned memory of CUDA and ROCm
_CUDA = (2, 13)  # CUDA, and its managed memory
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}


class Memory(NamedTuple):
    """Memory that an object describes."""

    owner: Any  # what keeps it alive
    address: int
    shape: Tuple[int, ...]
    dtype: "np.dtype[Any]"
    cuda: bool
    cuda_device: Optional[int]  # number of the card, where it is known
    stream: Optional[int]  # whose work comes before: the later tasks wait for it


def _check(shape: Tuple[int, ...], strides: Optional[Tuple[int, ...]], dtype: "np.dtype[Any]") -> None:
    if min(shape, default=1) < 1:
        raise InvalidArgumentError(f"an array of shape {shape} has no elements: a buffer has at least one")
    if strides is None:
        return
    full = full_strides(shape, dtype.itemsize)
    if any(length != 1 and one != other for length, one, other in zip(shape, strides, full)):
        raise InvalidArgumentError(
            f"an array with gaps or in another order (shape {shape}, strides {strides}) cannot be wrapped: wrap the "
            "array that it is a part of, and take a slice of the buffer; or copy it (Context.array)"
        )


def _of_interface(source: Any, interface: Any, cuda: bool) -> Memory:
    data = interface.get("data")
    if not isinstance(data, tuple):
        raise InvalidArgumentError(f"{type(source)} does not say where its memory is: its interface has no address")
    address, read_only = whole("the address of the array", data[0], 64), data[1]
    dtype, shape = check_dtype(interface["typestr"]), tuple(interface["shape"])
    if read_only:
        raise InvalidArgumentError("the array is read-only: a buffer can be written by tasks. Copy it (Context.array)")
    if interface.get("mask") is not None:
        raise InvalidArgumentError("an array with a mask cannot be wrapped")
    _check(shape, interface.get("strides"), dtype)
    return Memory(source, address, shape, dtype, cuda, None, interface.get("stream") if cuda else None)


def _of_dlpack(source: Any) -> Memory:
    kind = int(source.__dlpack_device__()[0])
    if kind not in _HOST + _CUDA:
        raise InvalidArgumentError(f"memory of DLPack device type {kind} cannot be wrapped: only the host's and CUDA's")
    # Stream 1 is CUDA's legacy default stream: the producer orders its work before.
    capsule = source.__dlpack__(stream=1) if kind in _CUDA else source.__dlpack__()
    owner, address, (_, number), (code, bits, lanes), shape, strides = _core.dlpack_take(capsule)
    if lanes != 1 or code not in _KINDS or bits % 8:
        raise InvalidArgumentError(
            f"elements of DLPack type ({code}, {bits} bits, {lanes} lanes) have no type in NumPy"
        )
    dtype = check_dtype(f"{_KINDS[code]}{bits // 8}")
    _check(shape, None if strides is None else tuple(one * dtype.itemsize for one in strides), dtype)
    return Memory(
        owner, address, shape, dtype, kind in _CUDA, number if kind in _CUDA else None, 0 if kind in _CUDA else None
    )


def memory_of(source: Any) -> Memory:
    """What an array of NumPy, or of another library, is in memory. No byte is copied."""
    if isinstance(source, np.ndarray):
        if not source.flags.writeable:
            raise InvalidArgumentError(
                "the array is read-only: a buffer can be written by tasks. Copy it (Context.array)"
            )
        check_dtype(source.dtype)
        _check(source.shape, source.strides, source.dtype)
        return Memory(source, source.ctypes.data, source.shape, source.dtype, False, None, None)
    interface = getattr(source, "__cuda_array_interface__", None)
    if interface is not None:
        return _of_interface(source, interface, True)
    interface = getattr(source, "__array_interface__", None)
    if interface is not None:
        return _of_interface(source, interface, False)
    if hasattr(source, "__dlpack__"):
        return _of_dlpack(source)
    try:
        return memory_of(np.frombuffer(source, np.uint8))
    except TypeError:
        raise InvalidArgumentError(
            f"{type(source)} cannot be wrapped: it has neither __array_interface__, __cuda_array_interface__ nor "
            "__dlpack__, and is no writable buffer"
        ) from None
