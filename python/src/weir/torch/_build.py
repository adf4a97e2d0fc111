# SPDX-License-Identifier: Apache-2.0
"""The graph of one signature of a model's arguments."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Sequence, Tuple

import torch
from torch.utils._pytree import tree_map

from .._context import Context
from .._graph import Graph
from .._hazards import Access, Hazards, explain
from .._plan import ALIGNMENT, Plan, Region, peak
from .._progress import Progress
from .._timeline import Timeline
from .._urgent import on_longest_chains
from . import _driver
from ._capture import Capture, bury, capture, sweep
from ._launch import Launch
from ._pools import Segment, find, is_moved, regions
from ._relax import adopt, relax
from ._signature import Signature, flatten
from ._state import State
from ._virtual import Space
from ._watch import Watch

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


class OperatorTimeline(Timeline):
    """The timeline of a model's operators; it keeps the memory that they use."""

    def __init__(self, context: Context, built: Built) -> None:
        super().__init__(context)
        self._built = built


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


def _check_inputs(leaves: Sequence[Any]) -> None:
    """Raises ValueError unless tensors are on the current card."""
    current = torch.cuda.current_device()
    for number, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor) and not (leaf.is_cuda and leaf.get_device() == current):
            raise ValueError(
                f"weir.torch: argument {number} is a tensor on {leaf.device}, and a graph is made for the current"
                f" device, cuda:{current}: move the tensor there, or call in `with torch.cuda.device(...)`"
            )


def _static(leaf: Any, grad: bool) -> Any:
    """A tensor that stays the same for all launches, in place of one of a call's."""
    if not isinstance(leaf, torch.Tensor):
        return leaf
    copy = leaf.detach().clone()
    return copy.requires_grad_(leaf.requires_grad) if grad else copy


class Built:
    """The graph of one signature, with its static inputs and outputs."""

    def __init__(self, model: Callable[..., Any], args: Any, kwargs: Any, options: Options) -> None:
        given, structure = flatten(args, kwargs)
        _check_inputs(given)
        self.signature = Signature(given, structure)
        copied = tree_map(lambda leaf: _static(leaf, options.grad), (args, kwargs))
        static, _ = flatten(*copied)
        inputs = [(index, static[index]) for index in self.signature.tensors]

        def call() -> Any:
            return model(*copied[0], **copied[1])

        sweep()
        with torch.set_grad_enabled(options.grad), Progress("weir.torch", 4) as bar:
            bar.step(0, "warm-up")
            self._warm_up(call, options.warm_ups)
            self._build(call, options, bar, inputs, [given[index] for index, _ in inputs])
            bar.step()
        self.watch = Watch(model, (storage.data_ptr() for storage in self._outside))

    def __del__(self) -> None:
        owned, self.__dict__ = self.__dict__, {}
        bury(owned)

    @staticmethod
    def _warm_up(call: Callable[[], Any], times: int) -> None:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(times):
                call()
        torch.cuda.synchronize()

    def _build(
        self,
        call: Callable[[], Any],
        options: Options,
        bar: Progress,
        inputs: Sequence[Tuple[int, torch.Tensor]],
        examples: Sequence[torch.Tensor],
    ) -> None:
        bar.step(what="first capture")
        space = Space(torch.cuda.current_device())
        first = capture(call, lambda operator, number, size: space.reserve(size), space.close)
        segments = sorted(first.segments, key=lambda segment: segment.start)
        found = self._regions(first, segments)
        placed = sorted(zip(segments, found), key=lambda pair: (pair[0].operator, pair[0].number))
        plan = Plan(_predecessors(first), int(options.memory * peak(found)))
        for _, region in placed:
            plan.place(region)
        offsets = {(segment.operator, segment.number): region.offset for segment, region in placed}
        first.close()
        # PyTorch knows memory by its first address, so that no planned segment may have that of the arena.
        self._arena = arena = torch.empty(ALIGNMENT + plan.bytes, dtype=torch.uint8, device="cuda")
        base = arena.data_ptr() + ALIGNMENT
        bar.step(what="second capture")
        offset_of = offsets.get
        second = capture(
            call,
            lambda operator, number, size: base + offset_of((operator, number), 0),
            lambda: None if arena is None else None,  # the arena is kept until then
        )
        end = base + plan.bytes
        if not is_moved(first.segments, first.entries, second.segments, second.entries, base, end):
            raise RuntimeError("weir.torch: the model's operators took other memory in a second capture")
        self.result = self._own(second.result, base)
        memory_of: Dict[int, List[Access]] = {}
        for segment, region in placed:
            start = base + region.offset
            memory_of.setdefault(segment.operator, []).append(Access(start, start + region.bytes, True))
        second.close()
        self._pools, self.graph, self._outside = second.pools, second.graph, second.outside
        # All memory of an operator is written by it, workspaces as well.
        self._operators = [
            replace(operator, accesses=operator.accesses + memory_of.get(number, []))
            for number, operator in enumerate(second.operators)
        ]
        self._accesses_outside = [
            access for operator in second.operators for access in operator.accesses if not base <= access.start < end
        ]
        state = State(self._accesses_outside)
        bar.step(what="times")
        self.report = self._choose(plan, peak(found), sum(region.bytes for region in found), options)
        self.launch = Launch(self.graph, inputs, examples)
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
        raw = graph.raw_cuda_graph()
        chain_edges, count, walls, parallel = _driver.edges(raw), 0, 0, serial
        self._order = _driver.in_order(raw)
        if _driver.nodes(raw):
            count, walls = relax(torch.cuda.current_device(), raw, self._operators, options.check_parameters)
            _driver.set_priority(on_longest_chains(self._order, _driver.edges(raw)), _driver.highest_priority())
            with _driver.executable(raw) as made:
                parallel = _median_us(lambda: _driver.launch(made, torch.cuda.current_stream().cuda_stream))
        if parallel < serial:
            graph.instantiate()  # in place of the one that keeps the order of the capture
        else:
            _driver.set_priority(self._order, 0)
            _driver.replace_edges(raw, chain_edges)
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

    def timeline(self, launches: int) -> Timeline:
        """The timeline of launches with the inputs of the last call. They change nothing."""
        device, raw = torch.cuda.current_device(), self.graph.raw_cuda_graph()
        self.launch.settle()
        state = State(self._accesses_outside)
        context = Context(f"cuda:{device}", issue="queues", trace=True, memory_limit=1 << 20)
        kept, copies = _driver.edges(raw), self.launch.copies
        nodes = copies + self._order
        _driver.replace_edges(raw, list(zip(nodes, nodes[1:])))
        try:
            somewhere = Access(self._arena.data_ptr(), self._arena.data_ptr() + 1, True)
            one_by_one = None if self.report.parallel else somewhere
            adopted = Graph(context, adopt(context, raw, self._operators, len(copies), len(nodes), one_by_one))
        finally:
            _driver.replace_edges(raw, kept)
        torch.cuda.synchronize()
        for _ in range(launches):
            adopted.launch().result()
        state.restore()
        return OperatorTimeline(context, self)

    def names(self) -> List[str]:
        return [operator.name for operator in self._operators]

    def why(self, first: int, last: int) -> str:
        operators = self._operators
        if not 0 <= first < last < len(operators):
            raise ValueError(f"weir.torch: 0 <= first < last < {len(operators)} is needed, and not {first} and {last}")
        lines = explain(self.names(), [operator.accesses for operator in operators], first, last)
        alone = operators[last].first_node - operators[first].end_node
        alone -= sum(operator.end_node - operator.first_node for operator in operators[first + 1 : last])
        if alone > 0:
            lines.append(f"{alone} kernels between them are no operator's, and keep their place")
        if not self.report.parallel:
            lines.append("the graph runs one after the other, which is faster")
        return "\n".join(lines)
