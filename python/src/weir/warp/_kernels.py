# SPDX-License-Identifier: Apache-2.0
"""Which bytes a launch of a Warp kernel accesses: the source of its module says how, the launch's arguments where."""

from __future__ import annotations

import ctypes
import glob
import os
from typing import Any, Dict, Iterator, List, Optional, Tuple

import warp
from warp._src import codegen, types

from .._hazards import Access
from ._source import WRITE, Module, Opaque

_sources: Dict[str, Module] = {}


def _module(execution: Any) -> Module:
    """The source of a module that was loaded, which Warp keeps beside its binary."""
    binary = execution.binary_path
    if not binary:
        raise Opaque("its module has no binary in a file")
    if binary not in _sources:
        folder, name = os.path.split(binary)
        found = os.path.join(folder, name.split(".", 1)[0] + ".cu")
        files = [found] if os.path.exists(found) else glob.glob(os.path.join(folder, "*.cu"))
        if len(files) != 1:
            raise Opaque(f"the source of its module is not in {folder}")
        with open(files[0], encoding="utf-8") as text:
            _sources[binary] = Module(text.read())
    return _sources[binary]


def _span(descriptor: Any, size: int) -> Optional[Tuple[int, int]]:
    """From where to where an array's elements of ``size`` bytes lie, by its descriptor; None: it has none."""
    low = high = 0
    for axis in range(descriptor.ndim):
        count, stride = descriptor.shape[axis], descriptor.strides[axis]
        if count == 0:
            return None
        low, high = low + min(0, (count - 1) * stride), high + max(0, (count - 1) * stride)
    if not descriptor.data or descriptor.ndim == 0:
        return None
    return descriptor.data + low, descriptor.data + high + size


def _extent(descriptor: Any, kind: Any) -> Optional[Tuple[int, int]]:
    return _span(descriptor, types.type_size_in_bytes(kind.dtype))


def _extents(kind: Any, address: int) -> Iterator[Tuple[int, int]]:
    """The memory of all arrays in a value of a type."""
    if isinstance(kind, codegen.Struct):
        for name, variable in kind.vars.items():
            yield from _extents(variable.type, address + getattr(kind.ctype, name).offset)
    elif types.matches_array_class(kind, warp.array):
        found = _extent(types.array_t.from_address(address), kind)
        if found is not None:
            yield found
    elif types.matches_array_class(kind, warp.indexedarray):
        indexed = types.indexedarray_t.from_address(address)
        found = _extent(indexed.data, kind)
        if found is not None:
            yield found
        for axis in range(indexed.data.ndim):
            if indexed.indices[axis]:
                yield indexed.indices[axis], indexed.indices[axis] + 4 * indexed.shape[axis]
    elif types.is_array(kind):
        raise Opaque(f"it has an array of type {kind}")


def _arguments(kernel: Any, parameters: Any) -> Iterator[Tuple[str, Any, int]]:
    """Each argument's name, type and address of its value. The first parameter of the CUDA function is its size."""
    for number, argument in enumerate(kernel.adj.args):
        yield argument.label, argument.type, parameters[1 + number]


def _backward(kernel: Any, parameters: Any) -> List[Access]:
    """The gradient of a kernel may update all arrays, and their gradients."""
    found: List[Access] = []
    count = len(kernel.adj.args)
    for number, argument in enumerate(kernel.adj.args):
        for position in (1 + number, 1 + count + number):
            address = parameters[position]
            found += [Access(start, end, True) for start, end in _extents(argument.type, address)]
            if types.matches_array_class(argument.type, warp.array):
                descriptor = types.array_t.from_address(address)
                if descriptor.grad:
                    move = descriptor.grad - descriptor.data
                    extent = _extent(descriptor, argument.type)
                    if extent is not None:
                        found.append(Access(extent[0] + move, extent[1] + move, True))
            elif isinstance(argument.type, codegen.Struct):
                raise Opaque("it is the gradient of a kernel with a struct")
    return found


def accesses(execution: Any, kernel: Any, symbol: str, backward: bool, parameters: Any) -> List[Access]:
    """What a launch accesses. ``parameters`` are the addresses of the CUDA function's parameters.

    Raises Opaque, with the reason, if that is not known.
    """
    meta = execution.det_launch_meta_map.get(symbol)
    if meta is not None and meta.needs_deterministic:
        raise Opaque("it is compiled for deterministic results, with buffers of Warp's")
    if backward:
        return _backward(kernel, parameters)
    modes = dict(_module(execution).accesses(f"{symbol}_cuda_kernel_forward"))
    found: List[Access] = []
    for name, kind, address in _arguments(kernel, parameters):
        mode = modes.pop(name, 0)
        if mode:
            found += [Access(start, end, bool(mode & WRITE)) for start, end in _extents(kind, address)]
    if modes:
        raise Opaque(f"its arguments {', '.join(modes)} are not known")
    return found


def _values(kind: Any, address: int) -> Iterator[Any]:
    """A value of a type in parts: arrays as the memory they have, the rest as bytes."""
    if isinstance(kind, codegen.Struct):
        for name, variable in kind.vars.items():
            yield from _values(variable.type, address + getattr(kind.ctype, name).offset)
    elif types.matches_array_class(kind, warp.array) or types.matches_array_class(kind, warp.indexedarray):
        for start, end in _extents(kind, address):
            yield Access(start, end, True)
    elif types.is_array(kind):
        yield object()  # differs from all others
    else:
        yield ctypes.string_at(address, types.type_size_in_bytes(kind))


def arguments(kernel: Any, parameters: Any) -> List[Any]:
    """The arguments of a launch in parts that can be compared with those of another launch."""
    return [part for _, kind, address in _arguments(kernel, parameters) for part in _values(kind, address)]


def descriptor_extent(pointer: Any, kind: int, size: int) -> Tuple[int, int]:
    """The memory of an array by its descriptor, as Warp's own functions take it; elements have ``size`` bytes.

    Raises Opaque if the array is not a regular one.
    """
    if kind != types.ARRAY_TYPE_REGULAR:
        raise Opaque("its array is indexed, or of Fabric")
    descriptor = types.array_t.from_address(ctypes.cast(pointer, ctypes.c_void_p).value or 0)
    return _span(descriptor, size) or (0, 0)
