# SPDX-License-Identifier: Apache-2.0
"""Buffers as arrays: shapes, slices, and contents from and to NumPy."""

import operator
import sys
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from weir import _core
from weir._errors import InvalidArgumentError
from weir._event import Event

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from weir._context import Context
else:
    from weir import _numpy as np

Shape = Tuple[int, ...]
Box = Tuple[int, int, int, int, int]


def full_strides(shape: Shape, item: int) -> Shape:
    """Strides in bytes of an array without gaps, the last axis first in memory."""
    strides = []
    for length in reversed(shape):
        strides.append(item)
        item *= length
    return tuple(reversed(strides))


def check_dtype(dtype: Any) -> "np.dtype[Any]":
    """The type of elements; types with objects of Python's, those without bytes, and arrays are refused."""
    kind: "np.dtype[Any]" = np.dtype(dtype)
    if kind.subdtype is not None:
        raise InvalidArgumentError(f"elements of type {kind} are arrays: their axes belong to the shape of the buffer")
    if kind.hasobject or kind.itemsize == 0:
        raise InvalidArgumentError(
            f"elements of type {kind} cannot be in a buffer: their bytes do not have all of them"
        )
    return kind


def layout(shape: Shape, strides: Shape, item: int) -> Tuple[int, Optional[Box]]:
    """Bytes from the first element to the end of the last one, and the box, if there are gaps between the elements."""
    axes = [(length, stride) for length, stride in zip(shape, strides) if length != 1]
    width = item
    while axes and axes[-1][1] == width:
        width *= axes.pop()[0]
    merged: List[Tuple[int, int]] = []
    for length, stride in axes:
        if merged and merged[-1][1] == length * stride:
            length *= merged.pop()[0]
        merged.append((length, stride))
    span = width + sum((length - 1) * stride for length, stride in merged)
    if not merged:
        return span, None
    if len(merged) > 2:
        raise InvalidArgumentError(
            f"a slice of shape {shape} with strides {strides} has gaps in {len(merged)} dimensions; an argument has "
            "rows with gaps, and slices of such rows with gaps"
        )
    rows, pitch = merged[-1]
    slices, slice_pitch = merged[0] if len(merged) == 2 else (1, 0)
    return span, (width, pitch, rows, slice_pitch, slices)


class Buffer(_core.Array):
    """Memory that tasks share, as an array; or a slice of one.

    Made by Context.buffer, Context.array and Context.wrap. Slices (`a[2:5]`, `a[:, 10:20]`) share the memory: tasks
    on slices that have no byte in common do not wait for each other. Weir chooses and moves the memory, unless it is
    the caller's own (Context.wrap), so contents are seen by tasks, and by copies: `a.numpy()`, `a[...] = x`.
    """

    __slots__ = ()

    dtype: "np.dtype[Any]"
    shape: Shape

    @property
    def context(self) -> "Context":
        """The context that the buffer belongs to."""
        return self._storage.context

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without gaps between them."""
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> Shape:
        """Bytes from an element to the next one, for each axis."""
        return self._strides or full_strides(self.shape, self.dtype.itemsize)

    @property
    def wrapped(self) -> bool:
        """Whether the memory is the caller's own."""
        return self._storage.owner is not None

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a buffer without axes has no length")
        return self.shape[0]

    def __iter__(self) -> Any:
        raise TypeError("a buffer has no elements outside of tasks: iterate over buffer.numpy()")

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        state = " released" if self._storage.released else " wrapped" if self.wrapped else ""
        return f"<weir.Buffer{state} shape={self.shape} dtype={self.dtype}>"

    # ------------------------------------------------------------------------------------------------------------
    # Slices

    def _index(self, key: Any) -> Tuple[Shape, Shape, int]:
        keys = key if isinstance(key, tuple) else (key,)
        if Ellipsis in [one for one in keys if one is Ellipsis]:
            place = [i for i, one in enumerate(keys) if one is Ellipsis]
            if len(place) > 1:
                raise IndexError("an index has one ellipsis at most")
            missing = self.ndim - len(keys) + 1
            keys = keys[: place[0]] + (slice(None),) * missing + keys[place[0] + 1 :]
        if len(keys) > self.ndim:
            raise IndexError(f"{len(keys)} indices for a buffer of {self.ndim} axes")
        keys += (slice(None),) * (self.ndim - len(keys))
        shape, strides, offset = [], [], 0
        for axis, (one, length, stride) in enumerate(zip(keys, self.shape, self.strides)):
            if isinstance(one, slice):
                first, end, step = one.indices(length)
                if step != 1:
                    raise InvalidArgumentError(f"axis {axis}: a slice of a buffer has step 1, and not {step}")
                if end <= first:
                    raise InvalidArgumentError(f"axis {axis}: the slice {first}:{end} is empty")
                shape.append(end - first)
                strides.append(stride)
            else:
                try:
                    first = operator.index(one)
                except TypeError:
                    raise TypeError(f"axis {axis}: an index is a number or a slice, and not {type(one)}") from None
                first += length if first < 0 else 0
                if not 0 <= first < length:
                    raise IndexError(f"axis {axis}: index {one} leaves its {length} elements")
            offset += first * stride
        return tuple(shape), tuple(strides), offset

    def __getitem__(self, key: Any) -> "Buffer":
        shape, strides, offset = self._index(key)
        return self._part(shape, strides, self.dtype, offset)

    def _part(self, shape: Shape, strides: Shape, dtype: "np.dtype[Any]", offset: int) -> "Buffer":
        span, box = layout(shape, strides, dtype.itemsize)
        full = strides == full_strides(shape, dtype.itemsize)
        return Buffer(self._storage, dtype, shape, None if full else strides, self._offset + offset, span, box)

    def reshape(self, *shape: Any) -> "Buffer":
        """The same memory with another shape; one length may be -1. Slices with gaps are refused."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        lengths = [operator.index(one) for one in wanted]
        if self._strides is not None:
            raise InvalidArgumentError("a slice with gaps cannot have another shape")
        if lengths.count(-1) == 1:
            known = 1
            for one in lengths:
                known *= 1 if one == -1 else one
            if known:
                lengths[lengths.index(-1)] = self.size // known
        size = 1
        for one in lengths:
            size *= one
        if size != self.size or min(lengths, default=1) < 1:
            raise InvalidArgumentError(f"{self.size} elements cannot have the shape {tuple(wanted)}")
        return self._part(tuple(lengths), full_strides(tuple(lengths), self.dtype.itemsize), self.dtype, 0)

    def view(self, dtype: Any) -> "Buffer":
        """The same memory with elements of another type; of another size only if there is one axis."""
        kind = check_dtype(dtype)
        if kind.itemsize == self.dtype.itemsize:
            return self._part(self.shape, self.strides, kind, 0)
        if self.ndim != 1 or self._strides is not None or self.nbytes % kind.itemsize:
            raise InvalidArgumentError(f"{self!r} cannot be seen as elements of type {kind}")
        return self._part((self.nbytes // kind.itemsize,), (kind.itemsize,), kind, 0)

    # ------------------------------------------------------------------------------------------------------------
    # Contents

    def numpy(self) -> "NDArray[Any]":
        """Waits for the contents, and returns a copy as a NumPy array."""
        out = np.empty(self.shape, self.dtype)
        self.copy_to(out).result()
        return out

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> "NDArray[Any]":
        if copy is False:
            raise ValueError("a NumPy array of a buffer is a copy")
        out = self.numpy()
        return out if dtype is None else out.astype(dtype, copy=False)

    def copy_to(self, out: "NDArray[Any]") -> Event:
        """Submits a copy to a NumPy array of the same shape and type, without gaps. The event's result is `out`.

        The array is kept until the copy is done, and must not be touched before.
        """
        if not isinstance(out, np.ndarray) or out.shape != self.shape or out.dtype != self.dtype:
            raise InvalidArgumentError(f"a copy of {self!r} needs a NumPy array of this shape and type")
        if not out.flags.c_contiguous or not out.flags.writeable:
            raise InvalidArgumentError("the array has gaps or is read-only: copy to numpy.empty(shape, dtype)")
        if self._boxed:
            return self._storage.context.submit(_copy_from_view, _core.read(self), out)
        return _core.copy_out(self, out.ctypes.data, out)

    def copy_from(self, source: Any) -> Event:
        """Submits a copy of an array or a Buffer of the same shape and type, or of one value, to this buffer.

        The source is kept until the copy is done, and must not change before. An array with gaps is copied first.
        """
        if isinstance(source, Buffer):
            self._check_same(source.shape, source.dtype, "the source")
            if self._boxed or source._boxed:
                return self._storage.context.submit(_copy_views, _core.write(self), _core.read(source))
            return _core.copy(self, source)
        array = np.asarray(source)
        if array.ndim == 0:
            array = np.full(self.shape, self._element(source))
        self._check_same(array.shape, array.dtype, "the source")
        array = np.ascontiguousarray(array).reshape(self.shape)
        if self._boxed:
            return self._storage.context.submit(_copy_to_view, _core.write(self), array)
        return _core.copy_in(self, array.ctypes.data, array)

    def __setitem__(self, key: Any, source: Any) -> None:
        self[key].copy_from(source).result()

    def fill(self, value: Any) -> Event:
        """Submits a task that sets every element to a value.

        The bytes of the value must repeat after 4, and the buffer, or the slice, begins and ends at a multiple of 4
        bytes, unless it is a slice with gaps.
        """
        if self._boxed:
            return self._storage.context.submit(_copy_to_view, _core.write(self), self._element(value))
        return _core.fill(self, self._pattern(value))

    def _element(self, value: Any) -> "NDArray[Any]":
        one = np.asarray(value)
        if one.shape != ():
            raise InvalidArgumentError(f"one value is expected, and not an array of shape {one.shape}")
        made = one.astype(self.dtype)
        if self.dtype.kind in "iub" and made != one:
            raise InvalidArgumentError(f"an element of type {self.dtype} cannot be {value!r}")
        return made

    def _pattern(self, value: Any) -> int:
        one = self._element(value)
        data = one.tobytes()
        pattern = (data * (4 // len(data)))[:4] if len(data) in (1, 2) else data[:4]
        if len(data) not in (1, 2) and pattern * (len(data) // 4) != data:
            raise InvalidArgumentError(
                f"the bytes of {one!r} do not repeat after 4: submit a function that fills the array"
            )
        return int.from_bytes(pattern, sys.byteorder)

    def _check_same(self, shape: Shape, dtype: "np.dtype[Any]", what: str) -> None:
        if shape != self.shape or dtype != self.dtype:
            raise InvalidArgumentError(f"{what} has shape {shape} and type {dtype}; {self!r} needs its own")

    # ------------------------------------------------------------------------------------------------------------
    # Life, and other libraries

    def release(self) -> None:
        """Releases the memory after its last use: for this buffer, the one that it is a slice of, and other slices.

        Without this call that happens when all of them are dropped.
        """
        self._storage.release()

    def _caller_memory(self, what: str) -> int:
        if self._storage.released:
            raise InvalidArgumentError("the buffer was released")
        if not self.wrapped:
            raise InvalidArgumentError(
                f"{what}: the memory of this buffer is Weir's, which moves it. Copy it (buffer.numpy()), use it in a "
                "task, or make a buffer of memory of your own (Context.wrap)"
            )
        return self._storage.address + self._offset

    def _interface(self, address: int) -> Dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (address, False),
            "strides": self._strides,
            "version": 3,
        }

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        if not self._storage.on_device or self._storage.released:
            raise AttributeError("only a buffer of wrapped CUDA memory has a __cuda_array_interface__")
        return {**self._interface(self._caller_memory("__cuda_array_interface__")), "stream": None}

    def _host_array(self, what: str) -> "NDArray[Any]":
        address = self._caller_memory(what)
        if self._storage.on_device:
            raise InvalidArgumentError(f"{what}: the memory is a CUDA device's; take the array that was wrapped")
        return np.asarray(_HostMemory(self._interface(address), self._storage))

    def __dlpack__(self, **options: Any) -> Any:
        return self._host_array("__dlpack__").__dlpack__(**options)

    def __dlpack_device__(self) -> Tuple[int, int]:
        self._host_array("__dlpack_device__")
        return (1, 0)


class _HostMemory:
    """Wrapped memory of the host, for NumPy; keeps it alive."""

    def __init__(self, interface: Dict[str, Any], storage: _core.Storage) -> None:
        self.__array_interface__ = interface
        self._storage = storage


def _copy_from_view(view: "NDArray[Any]", out: "NDArray[Any]") -> "NDArray[Any]":
    out[...] = view
    return out


def _copy_to_view(view: "NDArray[Any]", source: "NDArray[Any]") -> None:
    view[...] = source


def _copy_views(to: "NDArray[Any]", source: "NDArray[Any]") -> None:
    to[...] = source
