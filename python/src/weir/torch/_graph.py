# SPDX-License-Identifier: Apache-2.0
"""Models as graphs of their operators' true dependences."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Sequence, Tuple

import torch
from torch.utils._pytree import tree_flatten, tree_map

from .._hazards import Access, Hazards, chain
from .._plan import ALIGNMENT, Plan, Region, peak
from .._progress import Progress
from ._capture import Capture, capture
from ._driver import executable
from ._pools import Segment, find, is_moved, regions
from ._relax import relax
from ._state import State
from ._virtual import Space

_TIMED = 12


@dataclass(frozen=True)
class Report:
    """What became of a model for one signature of its inputs.

    ``kernels_between_all`` run after all that was captured before them and before all that came later, since it is not
    known what they access. Times are medians in microseconds, of the graph alone. Bytes are of intermediate results and
    workspaces: ``serial_bytes`` is the most that operators need which run one at a time, ``unplanned_bytes`` what they
    take where no byte is used again.
    """

    operators: int
    kernels_between_all: int
    dependences: int
    dependences_for_memory: int
    serial_us: float
    parallel_us: float
    parallel: bool
    bytes: int
    serial_bytes: int
    unplanned_bytes: int


@dataclass(frozen=True)
class Options:
    memory: float
    warm_ups: int
    grad: bool
    check_parameters: bool


def _median_us(launch: Callable[[], None]) -> float:
    times = []
    for turn in range(3 + _TIMED):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        launch()
        end.record()
        end.synchronize()
        if turn >= 3:
            times.append(start.elapsed_time(end) * 1000)
    return statistics.median(times)


def _predecessors(captured: Capture) -> List[List[int]]:
    hazards = Hazards()
    return [hazards.add(number, operator.accesses) for number, operator in enumerate(captured.operators)]


class _Signature:
    """What two calls have in common that one graph can serve."""

    def __init__(self, leaves: Sequence[Any]) -> None:
        self.tensors = [
            (index, leaf.shape, leaf.stride(), leaf.dtype, leaf.device)
            for index, leaf in enumerate(leaves)
            if isinstance(leaf, torch.Tensor)
        ]
        self.others = [(index, leaf) for index, leaf in enumerate(leaves) if not isinstance(leaf, torch.Tensor)]
        self.count = len(leaves)

    def fits(self, leaves: Sequence[Any]) -> bool:
        if len(leaves) != self.count:
            return False
        for index, shape, stride, dtype, device in self.tensors:
            leaf = leaves[index]
            if not isinstance(leaf, torch.Tensor) or leaf.shape != shape or leaf.dtype != dtype:
                return False
            if leaf.stride() != stride or leaf.device != device:
                return False
        return all(type(leaves[index]) is type(value) and leaves[index] == value for index, value in self.others)


class _Graph:
    """The graph of one signature, with its static inputs and outputs."""

    def __init__(self, model: Callable[..., Any], args: Any, kwargs: Any, options: Options) -> None:
        leaves, self.structure = tree_flatten((args, kwargs))
        self.signature = _Signature(leaves)
        copied = tree_map(lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, (args, kwargs))
        leaves = tree_flatten(copied)[0]
        self.plain = not kwargs and all(type(arg) is torch.Tensor for arg in args)
        self._inputs = [(index, leaves[index]) for index, *_ in self.signature.tensors]

        def call() -> Any:
            return model(*copied[0], **copied[1])

        with torch.set_grad_enabled(options.grad), Progress("weir.torch", 4) as bar:
            bar.step(0, "warm-up")
            self._warm_up(call, options.warm_ups)
            self._build(call, options, bar)
            bar.step()

    @staticmethod
    def _warm_up(call: Callable[[], Any], times: int) -> None:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(times):
                call()
        torch.cuda.synchronize()

    def _build(self, call: Callable[[], Any], options: Options, bar: Progress) -> None:
        bar.step(what="first capture")
        space = Space(torch.cuda.current_device())
        first = capture(call, lambda operator, number, size: space.reserve(size))
        segments = sorted(first.segments, key=lambda segment: segment.start)
        found = self._regions(first, segments)
        placed = sorted(zip(segments, found), key=lambda pair: (pair[0].operator, pair[0].number))
        plan = Plan(_predecessors(first), int(options.memory * peak(found)))
        for _, region in placed:
            plan.place(region)
        offsets = {(segment.operator, segment.number): region.offset for segment, region in placed}
        first.close()
        space.close()
        # PyTorch knows memory by its first address, so that no planned segment may have that of the arena.
        self._arena = torch.empty(ALIGNMENT + plan.bytes, dtype=torch.uint8, device="cuda")
        base = self._arena.data_ptr() + ALIGNMENT
        bar.step(what="second capture")
        second = capture(call, lambda operator, number, size: base + offsets.get((operator, number), 0))
        if not is_moved(first.segments, first.entries, second.segments, second.entries):
            raise RuntimeError("weir.torch: the model's operators took other memory in a second capture")
        self.result = self._own(second.result, base)
        memory_of: Dict[int, List[Access]] = {}
        for segment, region in placed:
            start = base + region.offset
            memory_of.setdefault(segment.operator, []).append(Access(start, start + region.bytes, True))
        second.close()
        self._pools, self.graph = second.pools, second.graph
        # All memory of an operator is written by it, workspaces as well.
        self._operators = [
            replace(operator, accesses=operator.accesses + memory_of.get(number, []))
            for number, operator in enumerate(second.operators)
        ]
        end = base + plan.bytes
        state = State(
            access for operator in second.operators for access in operator.accesses if not base <= access.start < end
        )
        bar.step(what="times")
        self.report = self._choose(plan, peak(found), sum(region.bytes for region in found), options)
        state.restore()

    def _regions(self, captured: Capture, segments: Sequence[Segment]) -> List[Region]:
        """How the segments (in order of their addresses) were used, and by which operators."""
        starts = [segment.start for segment in segments]
        found = regions(segments, captured.entries)
        for number, operator in enumerate(captured.operators):
            for access in operator.accesses:
                index = find(segments, starts, access.start)
                if index is not None:
                    found[index].users |= 1 << number
        return found

    def _own(self, result: Any, base: int) -> Any:
        """The result as tensors on our memory, which outlive the pools."""

        def move(leaf: Any) -> Any:
            if not isinstance(leaf, torch.Tensor) or not leaf.is_cuda:
                return leaf
            offset = leaf.untyped_storage().data_ptr() - base
            if not 0 <= offset < self._arena.numel() - ALIGNMENT:
                return leaf.detach()
            size = leaf.element_size()
            whole = self._arena[: self._arena.numel() // size * size].view(leaf.dtype)
            return whole.as_strided(leaf.size(), leaf.stride(), (ALIGNMENT + offset) // size + leaf.storage_offset())

        return tree_map(move, result)

    def _choose(self, plan: Plan, serial_bytes: int, unplanned_bytes: int, options: Options) -> Report:
        """Times the graph as it was captured and that of the true dependences, and keeps the faster one."""
        graph = self.graph
        graph.instantiate()
        serial = _median_us(graph.replay)
        device, raw = torch.cuda.current_device(), graph.raw_cuda_graph()
        count, walls = relax(device, raw, self._operators, options.check_parameters)
        with executable(raw) as launch:
            parallel = _median_us(lambda: launch(torch.cuda.current_stream().cuda_stream))
        if parallel < serial:
            graph.instantiate()  # in place of the one that keeps the order of the capture
        return Report(
            operators=len(self._operators),
            kernels_between_all=walls,
            dependences=count,
            dependences_for_memory=plan.added,
            serial_us=serial,
            parallel_us=parallel,
            parallel=parallel < serial,
            bytes=plan.bytes,
            serial_bytes=serial_bytes,
            unplanned_bytes=unplanned_bytes,
        )

    def names(self) -> List[str]:
        return [operator.name for operator in self._operators]

    def why(self, first: int, last: int) -> str:
        operators = self._operators
        if not 0 <= first < last < len(operators):
            raise ValueError(f"weir.torch: 0 <= first < last < {len(operators)} is needed, and not {first} and {last}")
        waits = chain([operator.accesses for operator in operators], first, last)
        lines = [
            f"{wait.later} {operators[wait.later].name} {wait.how}, {wait.earlier} {operators[wait.earlier].name}: "
            f"{wait.end - wait.start} bytes"
            for wait in waits
        ]
        if not waits:
            lines = [f"{last} {operators[last].name} needs nothing of {first} {operators[first].name}"]
        alone = operators[last].first_node - operators[first].end_node
        alone -= sum(operator.end_node - operator.first_node for operator in operators[first + 1 : last])
        if alone > 0:
            lines.append(f"{alone} kernels between them are no operator's, and keep their place")
        if not self.report.parallel:
            lines.append("the graph runs one after the other, which is faster")
        return "\n".join(lines)

    def launch(self, leaves: Sequence[Any]) -> Any:
        for index, static in self._inputs:
            given = leaves[index]
            if given is not static:
                static.copy_(given)
        self.graph.replay()
        return self.result


class Graphed:
    """A model that runs as a CUDA graph of its operators' true dependences: what :func:`graph` returns.

    A call copies the tensors among its arguments, launches the graph of their shapes, strides, types and devices on the
    current stream, and returns the graph's results. Arguments that are no tensors are compared by ``==``. The first
    call with others captures the model again, which runs it a few times. Results are the same tensors each time, and a
    later call overwrites them; ``clone()`` keeps one. A ``Graphed`` is for one thread at a time.
    """

    def __init__(self, model: Callable[..., Any], options: Options) -> None:
        self._model, self._options = model, options
        self._graphs: List[_Graph] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        graph, leaves = self._find(args, kwargs)
        with torch.no_grad():
            return graph.launch(leaves)

    def report(self, *args: Any, **kwargs: Any) -> Report:
        """What became of the model for such arguments; captures it first if need be."""
        return self._find(args, kwargs)[0].report

    def operators(self, *args: Any, **kwargs: Any) -> List[str]:
        """The names of the operators in the graph for such arguments; captures it first if need be."""
        return self._find(args, kwargs)[0].names()

    def why(self, first: int, last: int, *args: Any, **kwargs: Any) -> str:
        """Why operator ``last`` waits for operator ``first`` (indices of :meth:`operators`) for such arguments.

        A line for each step of the shortest chain of operators that wait for each other, with the bytes.
        """
        return self._find(args, kwargs)[0].why(first, last)

    def _find(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Tuple[_Graph, Sequence[Any]]:
        plain = not kwargs and all(type(arg) is torch.Tensor for arg in args)
        leaves, structure = (args, None) if plain else tree_flatten((args, kwargs))
        for graph in self._graphs:
            if graph.signature.fits(leaves) and (graph.plain if plain else structure == graph.structure):
                return graph, leaves
        graph = _Graph(self._model, args, kwargs, self._options)
        self._graphs.insert(0, graph)
        return graph, leaves


def graph(
    model: Callable[..., Any],
    *example_args: Any,
    memory: float = 1.25,
    warm_ups: int = 3,
    grad: bool = False,
    check_parameters: bool = False,
) -> Graphed:
    """Makes a model faster that runs many small operators on a CUDA device, of which some could run at the same time.

    ``model`` is a module or a function of tensors. It is called ``warm_ups`` times, and then captured twice as
    ``torch.cuda.graph`` captures it, so that what holds there holds here: the same operators each time, no waiting for
    the device, no dependence on values. Nodes of the graph then wait only for nodes whose bytes they need, by the
    schema of each operator; where that is not faster than one after the other, they stay in their order. Kernels that
    are not an operator's (those of ``torch.compile``) keep their place between all others.

    ``example_args`` say for which shapes a graph is made at once. Intermediate results take up to ``memory`` times what
    operators need that run one at a time. Without ``grad`` the model runs under ``torch.no_grad()``; with it, the call
    may have a backward pass and an optimiser's step, all tensors of which that outlive the call exist before it.

    Operators may overlap as they may in several streams of PyTorch's. A custom operator must say in its schema what it
    mutates, memory of its own included. With ``check_parameters`` a kernel that has an address of memory that is not
    PyTorch's among its parameters keeps its place, too; some of cuDNN's do.

    Raises RuntimeError if the model cannot be captured, and ValueError if an argument is out of range.
    """
    if not hasattr(torch.cuda.CUDAGraph, "raw_cuda_graph"):
        raise RuntimeError(f"weir.torch: PyTorch 2.8 or later is needed, and this is {torch.__version__}")
    if not torch.cuda.is_available():
        raise RuntimeError("weir.torch: PyTorch finds no CUDA device")
    if memory < 1 or warm_ups < 1:
        raise ValueError("weir.torch: memory and warm_ups are at least 1")
    made = Graphed(model, Options(memory, warm_ups, grad, check_parameters))
    if example_args:
        made.report(*example_args)
    return made
