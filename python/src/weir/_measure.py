# SPDX-License-Identifier: Apache-2.0
"""When the nodes of a CUgraph run, by events beside them: of graphs that Weir cannot take over, as those with loops."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple, Union

from ._cuda import call, listed_edges, listed_nodes
from ._nodes import change_edges
from ._timeline import Timeline

_Times = Dict[int, Tuple[float, float]]  # by node: begin and end in us


@contextlib.contextmanager
def _events(count: int) -> Iterator[List[ctypes.c_void_p]]:
    """Events of the current CUDA context that take times."""
    made: List[ctypes.c_void_p] = []
    try:
        for _ in range(count):
            event = ctypes.c_void_p()
            call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))
            made.append(event)
        yield made
    finally:
        for event in made:
            call("cuEventDestroy_v2", event)


def _record(graph: int, behind: Sequence[int], event: ctypes.c_void_p) -> int:
    """A node that records an event when other nodes are done."""
    node, nodes = ctypes.c_void_p(), (ctypes.c_void_p * len(behind))(*behind)
    count = ctypes.c_size_t(len(behind))
    call("cuGraphAddEventRecordNode", ctypes.byref(node), ctypes.c_void_p(graph), nodes, count, event)
    return node.value or 0


@contextlib.contextmanager
def _recorded(graph: int, nodes: Sequence[int], events: Sequence[ctypes.c_void_p]) -> Iterator[None]:
    """Records two events for each node, before it begins and when it ends. Afterwards the graph is as it was."""
    behind: Dict[int, List[int]] = {node: [] for node in nodes}
    for head, tail in listed_edges(graph):
        behind[tail].append(head)
    added: List[int] = []
    try:
        for number, node in enumerate(nodes):
            added.append(_record(graph, [node], events[2 * number + 1]))
        ends = dict(zip(nodes, added))
        for number, node in enumerate(nodes):
            added.append(_record(graph, [ends[head] for head in behind[node]], events[2 * number]))
        change_edges(call, graph, zip(added[len(nodes) :], nodes))
        yield
    finally:
        for record in added:
            call("cuGraphDestroyNode", ctypes.c_void_p(record))


def _between(start: ctypes.c_void_p, end: ctypes.c_void_p) -> float:
    elapsed = ctypes.c_float()
    call("cuEventElapsedTime", ctypes.byref(elapsed), start, end)
    return elapsed.value * 1000


def node_times(graph: int, launches: int, stream: int, flags: int) -> List[_Times]:
    """Launches a CUgraph, and returns for each launch when its nodes ran, in us since the first launch.

    ``flags`` are those of cuGraphInstantiateWithFlags. A conditional node is one node, with all that its bodies do. The
    graph must have no executable graph if it has such nodes. Its CUDA context is current. Raises DriverError.
    """
    nodes, found = listed_nodes(graph), []
    handle, executable = ctypes.c_void_p(stream), ctypes.c_void_p()
    with _events(2 * len(nodes) + 1) as events, _recorded(graph, nodes, events):
        call("cuGraphInstantiateWithFlags", ctypes.byref(executable), ctypes.c_void_p(graph), ctypes.c_ulonglong(flags))
        try:
            call("cuEventRecord", events[-1], handle)
            for _ in range(launches):
                call("cuGraphLaunch", executable, handle)
                call("cuStreamSynchronize", handle)
                times = [_between(events[-1], event) for event in events[:-1]]
                found.append({node: (times[2 * i], times[2 * i + 1]) for i, node in enumerate(nodes)})
        finally:
            call("cuGraphExecDestroy", executable)
    return found


@dataclass
class _Task:
    name: str
    start: float
    end: float
    waits: List[int]  # numbers of tasks from 1 on


def _tasks(times: Sequence[_Times], names: Dict[int, str], edges: Sequence[Tuple[int, int]]) -> List[_Task]:
    tasks: List[_Task] = []
    for launch in times:
        order = {node: len(tasks) + 1 + place for place, node in enumerate(names)}
        waits: Dict[int, Set[int]] = {node: set() for node in names}
        for head, tail in edges:
            waits[tail].add(order[head])
        tasks += [_Task(name, *launch[node], waits=sorted(waits[node])) for node, name in names.items()]
    return tasks


def _lanes(tasks: Sequence[_Task]) -> List[int]:
    """A lane for each task, so that those of a lane do not overlap."""
    ends: List[float] = []
    found = [0] * len(tasks)
    for number in sorted(range(len(tasks)), key=lambda number: (tasks[number].start, number)):
        task = tasks[number]
        free = next((lane for lane, end in enumerate(ends) if end <= task.start), len(ends))
        ends[free : free + 1] = [max(task.end, task.start)]
        found[number] = free
    return found


class MeasuredTimeline(Timeline):
    """A timeline of times that were measured, with the methods of one that Weir recorded.

    ``times`` are node_times, ``names`` the names of all nodes by their handles, in the order of the operations, and
    ``edges`` those of the graph. ``save`` writes JSON alone.
    """

    def __init__(
        self, device: str, times: Sequence[_Times], names: Dict[int, str], edges: Sequence[Tuple[int, int]]
    ) -> None:
        self._device, self._measured = device, _tasks(times, names, edges)

    def save(self, path: Union[str, "os.PathLike[str]"], title: Optional[str] = None) -> None:
        """Writes a file ".json" (for `weir timeline` and Perfetto)."""
        if not os.fspath(path).endswith(".json"):
            raise ValueError("weir: the timeline of a graph with loops or branches is written as .json alone")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(self._record(title), out)

    def clear(self) -> None:
        """Discards what was recorded so far."""
        self._measured = []

    def json(self) -> Dict[str, Any]:
        """The timeline in the format of docs/inside/timeline-json.md."""
        return self._record(None)

    def _record(self, title: Optional[str]) -> Dict[str, Any]:
        lanes = _lanes(self._measured)
        count = max(lanes, default=0) + 1
        events: List[Dict[str, Any]] = [{"name": "process_name", "ph": "M", "pid": 0, "tid": 0}]
        events[0]["args"] = {"name": self._device}
        for lane in range(count):
            name = {"name": f"lane {lane}"}
            events.append({"name": "thread_name", "ph": "M", "pid": 0, "tid": lane, "args": name})
        events += [self._event(number, lanes[number]) for number in range(len(self._measured))]
        device = {"name": self._device, "lanes": count, "lane": "lane"}
        about = {"version": 1, "title": title or "Weir timeline", "dropped": 0, "devices": [device]}
        return {"displayTimeUnit": "ns", "weir": about, "traceEvents": events}

    def _event(self, number: int, lane: int) -> Dict[str, Any]:
        task = self._measured[number]
        start, end = round(task.start * 1000), round(max(task.end, task.start) * 1000)
        ready = max((round(self._measured[one - 1].end * 1000) for one in task.waits), default=start)
        waits = [{"task": one, "hazard": "AFTER", "buffer": 0, "lo": 0, "hi": 0} for one in task.waits]
        args = {"id": number + 1, "tag": 0, "status": "WEIR_OK", "kernel": task.name}
        args.update(submit_ns=0, ready_ns=min(ready, start), start_ns=start, end_ns=end, accesses=[], waits=waits)
        span = {"ts": start / 1000, "dur": (end - start) / 1000}
        return {"name": task.name, "cat": "task", "ph": "X", "pid": 0, "tid": lane, **span, "args": args}
