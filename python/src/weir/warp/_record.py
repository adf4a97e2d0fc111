# SPDX-License-Identifier: Apache-2.0
"""Notes what Warp captures: for each operation what it accesses, and which nodes of which graph are its own.

Warp calls its native library through attributes of one object. A recorder puts functions of its own in the place of
those that add nodes, for as long as a capture lasts. What it does not know adds nodes that keep their place.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Tuple

from warp._src import context as warp_context

from .._cuda import captured_graph, node_count
from .._hazards import Access
from . import _kernels
from ._source import Opaque


@dataclass
class Operation:
    """A launch, copy, fill or condition. Its nodes are those from ``first_node`` to before ``end_node``."""

    name: str
    first_node: int
    end_node: int
    accesses: List[Access]
    opaque: Optional[str] = None  # why it is not known what it accesses
    bodies: Tuple[int, ...] = ()  # of a condition: the CUgraphs that it runs
    conditional: bool = False  # it had such bodies
    arguments: Tuple[Any, ...] = ()  # values, as bytes or numbers, and places in memory, as Access


@dataclass
class Recording:
    """The operations of each CUgraph that was captured."""

    graphs: Dict[int, List[Operation]] = field(default_factory=dict)
    several_streams: bool = False


def _number(value: Any) -> int:
    """An address, as Warp passes it to its library."""
    if value is None:
        return 0
    return int(value) if isinstance(value, int) else ctypes.cast(value, ctypes.c_void_p).value or 0


def _condition(pointer: Any) -> List[Access]:
    address = _number(pointer)
    return [Access(address, address + 4, True)]


def _fixed(name: str, args: Tuple[Any, ...]) -> Tuple[Any, ...]:
    """What is not a place in memory among the arguments of a function that fills."""
    if name == "wp_memset_device":
        return (args[2],)
    if name == "wp_memtile_device":
        return ctypes.string_at(_number(args[2]), args[3]), args[4]
    if name == "wp_array_fill_device":
        return (ctypes.string_at(_number(args[3]), args[4]),)
    return ()


def _memset(ctx: Any, pointer: Any, value: Any, size: int, stream: Any) -> List[Access]:
    return [Access(_number(pointer), _number(pointer) + size, True)]


def _memtile(ctx: Any, pointer: Any, source: Any, size: int, count: int) -> List[Access]:
    return [Access(_number(pointer), _number(pointer) + size * count, True)]


def _memcpy(ctx: Any, to: Any, source: Any, size: int, stream: Any) -> List[Access]:
    start, end = _number(to), _number(source)
    return [Access(start, start + size, True), Access(end, end + size, False)]


def _array_fill(ctx: Any, array: Any, kind: int, value: Any, size: int) -> List[Access]:
    return [Access(*_kernels.descriptor_extent(array, kind, size), True)]


def _array_copy(ctx: Any, to: Any, source: Any, to_kind: int, source_kind: int, size: int) -> List[Access]:
    written, read = _kernels.descriptor_extent(to, to_kind, size), _kernels.descriptor_extent(source, source_kind, size)
    return [Access(*written, True), Access(*read, False)]


def _set_condition(ctx: Any, stream: Any, arch: Any, ptx: Any, condition: Any, handle: Any) -> List[Access]:
    return _condition(condition)


# Functions that add nodes: the operation's name, its accesses, and the position of the stream; None: the device's own.
_How = Tuple[str, Callable[..., List[Access]], Optional[int]]  # see _FUNCTIONS
_FUNCTIONS: Dict[str, _How] = {
    "wp_memset_device": ("fill", _memset, None),
    "wp_memtile_device": ("fill", _memtile, None),
    "wp_memcpy_d2d": ("copy", _memcpy, 4),
    "wp_array_fill_device": ("fill", _array_fill, None),
    "wp_array_copy_device": ("copy", _array_copy, None),
    "wp_cuda_graph_set_condition": ("condition", _set_condition, 1),
}
_LAUNCH, _WHILE, _IF = "wp_cuda_launch_kernel", "wp_cuda_graph_insert_while", "wp_cuda_graph_insert_if_else"


class Recorder:
    """Records what the calling thread captures in a stream, from :meth:`start` to :meth:`stop`."""

    def __init__(self, device: Any, stream: Any) -> None:
        self.recording = Recording()
        self._device, self._stream = device, stream
        self._thread = threading.get_ident()
        self._core = warp_context.runtime.core
        self._replaced: List[Tuple[Any, str, Any]] = []
        self._kernels: Dict[int, Tuple[Any, Any, str, bool]] = {}

    def start(self) -> None:
        for name, how in _FUNCTIONS.items():
            self._replace(self._core, name, functools.partial(self._called, name, getattr(self._core, name), how))
        self._replace(self._core, _LAUNCH, functools.partial(self._launched, getattr(self._core, _LAUNCH)))
        for name in (_WHILE, _IF):
            self._replace(self._core, name, functools.partial(self._inserted, getattr(self._core, name), name))
        self._watch_hooks()

    def stop(self) -> None:
        while self._replaced:
            owner, name, value = self._replaced.pop()
            setattr(owner, name, value)

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        self._replaced.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def _watch_hooks(self) -> None:
        """Learns which CUDA function belongs to which kernel, when Warp looks it up or launches a recorded command."""
        find, launch, recorder = warp_context.ModuleExec.get_kernel_hooks, warp_context.Launch.launch, self

        def get_kernel_hooks(execution: Any, kernel: Any) -> Any:
            hooks = find(execution, kernel)
            recorder._note(execution, kernel, hooks)
            return hooks

        def launch_again(command: Any, stream: Any = None) -> Any:
            recorder._note(command.module_exec, command.kernel, command.hooks)
            return launch(command, stream)

        self._replace(warp_context.ModuleExec, "get_kernel_hooks", get_kernel_hooks)
        self._replace(warp_context.Launch, "launch", launch_again)

    def _note(self, execution: Any, kernel: Any, hooks: Any) -> None:
        symbol = execution.get_kernel_mangled_name(kernel)
        for function, backward in ((hooks.forward, False), (hooks.backward, True)):
            if function:
                self._kernels[_number(function)] = execution, kernel, symbol, backward

    def _graph(self, stream: Any) -> Optional[int]:
        """The graph that a call adds nodes to; None: it is not part of this capture."""
        if threading.get_ident() != self._thread:
            return None
        graph = captured_graph(_number(stream))
        if graph is not None and _number(stream) != self._stream.cuda_stream:
            self.recording.several_streams = True
        return graph

    def _add(self, graph: int, first: int, name: str, find: Callable[[], List[Access]]) -> Operation:
        """An operation whose nodes are those since ``first``."""
        accesses: List[Access] = []
        opaque = None
        try:
            accesses = [access for access in find() if access.end > access.start]
        except Opaque as reason:
            opaque = str(reason)
        operation = Operation(name, first, node_count(graph), accesses, opaque)
        self.recording.graphs.setdefault(graph, []).append(operation)
        return operation

    def _called(self, symbol: str, function: Any, how: _How, *args: Any) -> Any:
        name, find, position = how
        graph = self._graph(self._device.stream.cuda_stream if position is None else args[position])
        if graph is None:
            return function(*args)
        first = node_count(graph)
        result = function(*args)
        operation = self._add(graph, first, name, lambda: find(*args))
        operation.arguments = (*_fixed(symbol, args), *operation.accesses)
        return result

    def _launched(self, function: Any, *args: Any) -> Any:
        graph = self._graph(args[9])
        if graph is None:
            return function(*args)
        first = node_count(graph)
        known = self._kernels.get(_number(args[1]))
        result = function(*args)

        parameters = ctypes.cast(args[8], ctypes.POINTER(ctypes.c_void_p))

        def find() -> List[Access]:
            if known is None:
                raise Opaque("it is no kernel that Warp launched by itself")
            return _kernels.accesses(*known, parameters)

        operation = self._add(graph, first, "kernel" if known is None else str(known[1].key), find)
        if known is not None:
            operation.arguments = (*args[2:8], *_kernels.arguments(known[1], parameters))
        return result

    def _inserted(self, function: Any, name: str, *args: Any) -> Any:
        graph = self._graph(args[1])
        if graph is None:
            return function(*args)
        first = node_count(graph)
        result = function(*args)
        outputs = args[5:6] if name == _WHILE else args[5:7]
        operation = self._add(graph, first, "while" if name == _WHILE else "if", lambda: _condition(args[4]))
        operation.bodies = tuple(output._obj.value for output in outputs if output is not None)
        return result
