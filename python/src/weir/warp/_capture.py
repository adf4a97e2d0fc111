# SPDX-License-Identifier: Apache-2.0
"""Captures of Warp programs as CUDA graphs of their operations' true dependences."""

from __future__ import annotations

import contextlib
import threading
import warnings
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Dict, List, Optional, Sequence, Tuple, Type

import warp

from .._context import Context
from .._cuda import DriverError, adopt, is_listed_chain, listed_edges, listed_nodes, node_count
from .._errors import Error
from .._graph import Graph
from .._hazards import explain
from .._measure import MeasuredTimeline, node_times
from .._timeline import Timeline
from ._arena import Arena
from ._arrangement import Arrangement, Nodes
from ._record import Operation, Recorder, Recording
from ._starts import BYTES, late_fills
from ._trial import FIRST, FLAGS, Order, Trial, destroy_executable

_capturing = threading.Lock()


@dataclass(frozen=True)
class Report:
    """What became of a captured graph.

    ``operations`` are launches, copies, fills and conditions, those in bodies of conditions included.
    ``operations_between_all`` of them keep their place, since it is not known what they access. ``dependences`` are the
    edges of all graphs. Times are medians in microseconds of a launch: in the order of the capture, in that of the
    dependences, and in that with priority for the kernels of the longest chain. ``parallel`` says whether the order of
    the capture was left, and ``longest_first`` whether for the one with priorities. All five are None until the first
    40 launches are done, and stay None where ``reason`` says why the graph is as Warp captured it. Where an order could
    not be had, ``reason`` says why, and the graph keeps the order before. ``bytes`` is the memory of the arrays that
    were made in the capture.
    """

    operations: int
    operations_between_all: int
    dependences: int
    bodies: int
    serial_us: Optional[float]
    parallel_us: Optional[float]
    longest_first_us: Optional[float]
    parallel: Optional[bool]
    longest_first: Optional[bool]
    bytes: int
    reason: Optional[str]


def _resolve(recording: Recording, graph: int) -> List[Operation]:
    """The operations of a graph; what a condition accesses is what its bodies do, and theirs."""
    operations = recording.graphs.get(graph, [])
    for operation in operations:
        for body in operation.bodies:
            inside = _resolve(recording, body)
            if any(other.opaque is not None for other in inside):
                operation.opaque = "a body has an operation that keeps its place"
            operation.accesses = operation.accesses + [access for other in inside for access in other.accesses]
        operation.conditional, operation.bodies = operation.conditional or bool(operation.bodies), ()
    return operations


def _nodes(operations: Sequence[Operation], arena: Arena) -> Nodes:
    added = late_fills(operations, arena.allocate(BYTES))
    return [
        (node, [*operation.accesses, *more])
        for operation, more in zip(operations, added)
        if operation.opaque is None
        for node in range(operation.first_node, operation.end_node)
    ]


class OperationTimeline(Timeline):
    """The timeline of a captured graph; it keeps what the graph uses."""

    def __init__(self, context: Context, capture: "ScopedCapture") -> None:
        super().__init__(context)
        self._capture = capture


class ScopedCapture:
    """Captures what Warp does in a ``with`` block, as ``warp.ScopedCapture`` does, and lets operations overlap.

    ``graph`` is a graph of Warp's for ``warp.capture_launch``. In it an operation waits for those alone whose results
    it needs, or whose data it overwrites; bodies of ``warp.capture_while`` and ``warp.capture_if`` are such graphs,
    too. Results are those of Warp's own graph. The first 40 launches run in the order of the capture and in that of the
    dependences, with and without priorities, and the fastest one is kept.

    ``device`` and ``stream`` are as Warp's, of a CUDA device. Arrays that are made in the block have memory of their
    own up to 64 MiB, or ``memory`` times the most bytes that are in use at a time; beyond that bytes are used again.
    With ``relaxed=False`` the graph keeps the order of the capture, and nothing is timed. One thread at a time
    captures.
    """

    def __init__(
        self,
        device: Any = None,
        stream: Any = None,
        force_module_load: Optional[bool] = None,
        memory: float = 1.25,
        relaxed: bool = True,
    ) -> None:
        self._device = stream.device if stream is not None else warp.get_device(device)
        if not self._device.is_cuda:
            raise ValueError(f"weir.warp captures work of CUDA devices, and {self._device} is none")
        if memory < 1:
            raise ValueError(f"weir.warp: memory is a factor of at least 1, and not {memory}")
        self._stream = stream if stream is not None else self._device.stream
        self._force_module_load, self._memory, self._relaxed = force_module_load, memory, relaxed
        self._recorder: Optional[Recorder] = None
        self._arena: Optional[Arena] = None
        self._trial: Optional[Trial] = None
        self._operations: List[Operation] = []
        self._nodes: Nodes = []
        self._handles: List[int] = []  # the nodes of the graph, as they were captured
        self._counts: Dict[str, int] = {}
        self._reason: Optional[str] = None
        self.active = False
        self.graph: Any = None

    def __enter__(self) -> "ScopedCapture":
        if self.graph is not None or self.active:
            raise RuntimeError("weir.warp: a ScopedCapture captures once")
        if not _capturing.acquire(blocking=False):
            raise RuntimeError("weir.warp: another capture is not done")
        try:
            self._recorder = Recorder(self._device, self._stream)
            warp.capture_begin(stream=self._stream, force_module_load=self._force_module_load)
            self._arena = Arena(self._device, self._memory)
            self._previous = self._device._custom_allocator
            self._device._custom_allocator = self._arena
            self._recorder.start()
        except BaseException:
            _capturing.release()
            raise
        self.active = True
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        assert self._recorder is not None and self._arena is not None
        self.active = False
        self._recorder.stop()
        self._device._custom_allocator = self._previous
        self._arena.active = False
        try:
            graph = warp.capture_end(stream=self._stream)
        except Exception:
            if kind is None:
                raise
            return  # the exception of the block says more
        finally:
            _capturing.release()
        graph.weir_memory = self._arena
        self.graph = graph
        if kind is None:
            self._relax(self._recorder.recording)

    def _relax(self, recording: Recording) -> None:
        main = self.graph.graph.value
        bodies = [graph for graph in recording.graphs if graph != main]
        self._operations = _resolve(recording, main)
        everything = [operation for graph in recording.graphs for operation in _resolve(recording, graph)]
        self._counts = {
            "operations": len(everything),
            "walls": sum(operation.opaque is not None for operation in everything),
            "bodies": len(bodies),
            "edges": 0,
        }
        if not self._relaxed:
            self._reason = "it was asked for so"
        elif recording.several_streams:
            self._keep("it was captured in several streams, and their order is the program's own")
        elif not self._operations:
            self._keep("nothing of Warp's was captured")
        else:
            assert self._arena is not None
            self._handles = listed_nodes(main)
            if not all(is_listed_chain(graph) for graph in [*bodies, main]):
                return self._keep("its nodes are not in one order")
            graphs = [(graph, _nodes(_resolve(recording, graph), self._arena)) for graph in [*bodies, main]]
            self._try(graphs)

    def _try(self, graphs: List[Tuple[int, Nodes]]) -> None:
        self._nodes = graphs[-1][1]
        try:
            arrangement = Arrangement(self._device, graphs)
        except (Error, RuntimeError) as failure:
            return self._keep(str(failure))
        self._counts["edges"] = arrangement.dependences
        try:
            arrangement.arrange(FIRST)
            self._trial = Trial(self.graph, arrangement.arrange)
        except (Error, RuntimeError) as failure:
            with contextlib.suppress(RuntimeError):
                arrangement.arrange(Order.SERIAL)
            self._keep(str(failure))

    def _keep(self, reason: str) -> None:
        self._reason = reason
        warnings.warn(f"weir.warp: the graph is as Warp captured it: {reason}", RuntimeWarning, stacklevel=4)

    @property
    def operations(self) -> List[str]:
        """The names of the operations in order: kernels by their names, else what they do. Those of bodies are not."""
        return [operation.name for operation in self._operations]

    @property
    def report(self) -> Report:
        """What became of the graph. Waits for the launches of the trial, if all of them were made."""
        trial, times, decision, reason = self._trial, {}, None, self._reason
        if trial is not None:
            trial.decide(wait=True)
            times, decision, reason = trial.times, trial.decision, trial.reason
        return Report(
            operations=self._counts.get("operations", 0),
            operations_between_all=self._counts.get("walls", 0),
            dependences=self._counts.get("edges", 0),
            bodies=self._counts.get("bodies", 0),
            serial_us=times.get(Order.SERIAL),
            parallel_us=times.get(Order.PARALLEL),
            longest_first_us=times.get(Order.LONGEST_FIRST),
            parallel=None if decision is None else decision != Order.SERIAL,
            longest_first=None if decision is None else decision == Order.LONGEST_FIRST,
            bytes=self._arena.bytes if self._arena is not None else 0,
            reason=reason,
        )

    def arguments(self) -> List[Tuple[str, Tuple[Any, ...]]]:
        """The name and arguments of each operation, those of bodies included: values, and Access for memory."""
        assert self._recorder is not None
        graphs = self._recorder.recording.graphs.values()
        return [(operation.name, operation.arguments) for graph in graphs for operation in graph]

    def place(self, address: int) -> Tuple[int, int]:
        """Which array of the block has an address, and where; -1 and the address for other memory."""
        return (-1, address) if self._arena is None else self._arena.place(address)

    def timeline(self, launches: int = 1) -> Timeline:
        """Launches the graph once more, or ``launches`` times, and returns what ran when.

        Operations are in the order that is kept; before the trial has ended, in that of their dependences. A loop or
        branch is one operation, from its beginning to its end: events are recorded beside the operations of such a
        graph, which makes it slower by some microseconds an operation, and in the order that it has now. Raises
        RuntimeError if nothing was captured, or the driver refuses events in this graph.
        """
        if self.graph is None or not self._nodes:
            raise RuntimeError(f"weir.warp: there is no timeline: {self._reason or 'nothing was captured'}")
        trial, graph = self._trial, self.graph.graph.value
        if self._counts["bodies"] > 0:
            return self._measured_timeline(graph, launches)
        context = Context(f"cuda:{self._device.ordinal}", issue="queues", trace=True, memory_limit=1 << 20)
        labels = ["other work"] * node_count(graph)
        for operation in self._operations:
            for node in range(operation.first_node, operation.end_node):
                labels[node] = operation.name
        serial = trial is not None and trial.decision == Order.SERIAL
        handle = adopt(context, graph, [] if serial else self._nodes, labels)
        adopted = Graph(context, handle)
        warp.synchronize_device(self._device)
        for _ in range(launches):
            adopted.launch().result()
        return OperationTimeline(context, self)

    def _measured_timeline(self, graph: int, launches: int) -> Timeline:
        names = dict.fromkeys(self._handles, "other work")
        for operation in self._operations:
            names.update(dict.fromkeys(self._handles[operation.first_node : operation.end_node], operation.name))
        warp.synchronize_device(self._device)
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._device.context_guard)
            if self._trial is not None:
                stack.enter_context(self._trial.without_executable(self.graph))
            else:
                destroy_executable(self.graph)
            try:
                times = node_times(graph, launches, self._device.stream.cuda_stream or 0, FLAGS)
            except DriverError as failure:
                loops = ", ".join(f"{at} {one.name}" for at, one in enumerate(self._operations) if one.conditional)
                raise RuntimeError(
                    f"weir.warp: there is no timeline of a graph with conditions ({loops}): {failure}"
                ) from failure
            return MeasuredTimeline(f"cuda:{self._device.ordinal}", times, names, listed_edges(graph))

    def why(self, first: int, last: int) -> str:
        """Why operation ``last`` waits for operation ``first``: indices of :attr:`operations`.

        A line for each step of the shortest chain of operations that wait for each other, with the bytes.
        """
        operations = self._operations
        if not 0 <= first < last < len(operations):
            raise ValueError(f"weir.warp: 0 <= first < last < {len(operations)} is needed, and not {first} and {last}")
        for number in range(first, last + 1):
            if operations[number].opaque is not None:
                name, reason = operations[number].name, operations[number].opaque
                return f"{number} {name} keeps its place between all others: {reason}"
        return "\n".join(explain(self.operations, [operation.accesses for operation in operations], first, last))
