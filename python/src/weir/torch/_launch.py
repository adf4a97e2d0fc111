# SPDX-License-Identifier: Apache-2.0
"""A call of a model: its inputs are copied to where the graph wants them, and the graph is launched."""

from __future__ import annotations

import ctypes
import statistics
import time
from typing import Any, Callable, List, Sequence, Tuple

import torch

from .. import _core
from . import _driver
from ._accesses import extent

_QUICK = 8  # more inputs than these are copied before the launch, by few kernels
_TIMED = 15
_DEVICE = 2  # CU_MEMORYTYPE_DEVICE


class _CopyEnd(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_size_t) for name in ("x", "y", "z", "level")),
        ("memory", ctypes.c_uint),
        ("host", ctypes.c_void_p),
        ("device", ctypes.c_ulonglong),
        *((name, ctypes.c_void_p) for name in ("array", "reserved")),
        *((name, ctypes.c_size_t) for name in ("pitch", "height")),
    ]


class _Copy(ctypes.Structure):  # CUDA_MEMCPY3D
    _fields_ = [
        *((name, _CopyEnd) for name in ("source", "destination")),
        *((name, ctypes.c_size_t) for name in ("width", "height", "depth")),
    ]


def _is_bytes(tensor: torch.Tensor) -> bool:
    """Whether a tensor is a range of bytes without gaps that mean what they say."""
    start, end = extent(tensor)
    plain = tensor.layout is torch.strided and not tensor.is_complex() and not tensor.is_neg()
    return plain and type(tensor) is torch.Tensor and end - start == tensor.numel() * tensor.element_size() > 0


def _is_alike(static: torch.Tensor, example: torch.Tensor) -> bool:
    """Whether a tensor like the example is copied by its bytes."""
    same = static.stride() == example.stride() or (static.is_contiguous() and example.is_contiguous())
    return same and _is_bytes(static) and _is_bytes(example.detach())


def _add_copies(graph: int, inputs: Sequence[torch.Tensor], sources: Sequence[torch.Tensor]) -> List[int]:
    """Puts copies, one after the other, before all other nodes of a CUgraph. Returns their nodes."""
    later = {tail for _, tail in _driver.edges(graph)}
    roots = [node for node in _driver.nodes(graph) if node not in later]
    context, nodes = _driver.current_context(), []
    before: List[int] = []
    for to, source in zip(inputs, sources):
        start, end = extent(to)
        copy = _Copy(_CopyEnd(memory=_DEVICE, device=source.data_ptr()), _CopyEnd(memory=_DEVICE, device=start))
        copy.width, copy.height, copy.depth = end - start, 1, 1
        nodes.append(_driver.add_copy(graph, before, copy, context))
        before = nodes[-1:]
    _driver.change_edges(graph, [(before[0], root) for root in roots])
    return nodes


def call_us(call: Callable[[], Any]) -> float:
    """The median time of a call until the card is done, in microseconds."""
    times = []
    for turn in range(3 + _TIMED):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        if turn >= 3:
            times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times)


class Launch:
    """Launches a graph whose inputs are ``inputs``: static tensors, with their places among a call's leaves."""

    def __init__(
        self, graph: torch.cuda.CUDAGraph, inputs: Sequence[Tuple[int, torch.Tensor]], examples: Sequence[torch.Tensor]
    ) -> None:
        """Copies may become nodes of the graph, which is instantiated again then. ``examples``: inputs to try with."""
        self._graph, self._device = graph, torch.cuda.current_device()
        self._draws = self._draws_numbers()
        self._own = hasattr(graph, "raw_cuda_graph_exec")  # PyTorch 2.11 has it
        alike = [
            (*pair, example) for pair, example in zip(inputs, examples) if self._own and _is_alike(pair[1], example)
        ]
        quick = alike if len(alike) <= _QUICK else []
        self._places = [index for index, _, _ in quick]
        self._statics = [static for _, static, _ in quick]
        self._slow = [pair for pair in inputs if pair[0] not in self._places]
        self.in_graph = False
        self.copies: List[int] = []  # nodes of the graph, and where they copy from if the driver is not told otherwise
        self._sources: List[torch.Tensor] = []
        if self._own:
            self._choose([example for _, _, example in quick])

    def _draws_numbers(self) -> bool:
        """Whether the graph draws random numbers: PyTorch alone can launch it then."""
        generator = torch.cuda.default_generators[self._device]
        before = generator.get_offset()
        self._graph.replay()
        return generator.get_offset() != before

    def _make(self, executable: int, nodes: Sequence[int]) -> Any:
        ends = [extent(static) for static in self._statics]
        parts = [(node, start, end - start) for node, (start, end) in zip(nodes, ends)]
        return _core.cuda_launch(_driver.launch_functions(), _driver.current_context(), executable, parts)

    def _choose(self, examples: Sequence[torch.Tensor]) -> None:
        """Copies inputs in the stream before the launch, or by nodes of the graph, whichever is faster."""
        graph = self._graph
        raw, none = graph.raw_cuda_graph(), [0] * len(self._statics)
        self._launch = self._make(graph.raw_cuda_graph_exec(), none)
        if not self._statics:
            return
        addresses = tuple(example.data_ptr() for example in examples)
        apart = call_us(lambda: self._start(self._launch, addresses))
        with _driver.clone(raw) as copy:
            nodes = _add_copies(copy, self._statics, examples)
            with _driver.executable(copy) as made:
                trial = self._make(made, nodes)
                self.in_graph = call_us(lambda: self._start(trial, addresses)) < apart
        if self.in_graph:
            self._sources = [torch.empty_like(static) for static in self._statics]
            self.copies = _add_copies(raw, self._statics, self._sources)
            graph.instantiate()
            self._launch = self._make(graph.raw_cuda_graph_exec(), self.copies)

    def settle(self) -> None:
        """The graph itself, as it was not launched yet, copies the inputs of the last launch."""
        for source, static in zip(self._sources, self._statics):
            source.copy_(static.detach())

    def _start(self, launch: Any, addresses: Tuple[int, ...], start: bool = True) -> None:
        stream = torch._C._cuda_getCurrentRawStream(self._device)
        result = _core.cuda_launch_run(launch, stream, start, addresses)
        if result != 0:
            _driver.refuse_launch(result)

    def __call__(self, leaves: Sequence[Any]) -> None:
        """Copies a call's tensors, and launches the graph in the current stream."""
        if self._slow:
            self._copy_slowly(leaves)
        if self._own:
            self._start(self._launch, tuple([leaves[place].data_ptr() for place in self._places]), not self._draws)
        if self._draws or not self._own:
            self._graph.replay()

    def _copy_slowly(self, leaves: Sequence[Any]) -> None:
        if torch.cuda.is_current_stream_capturing():
            _driver.refuse_launch(-1)
        with torch.no_grad():
            pairs = [(static, leaves[index]) for index, static in self._slow if leaves[index] is not static]
            if pairs:
                torch._foreach_copy_([static for static, _ in pairs], [given for _, given in pairs])
