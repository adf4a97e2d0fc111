# SPDX-License-Identifier: Apache-2.0
"""Both orders of a graph, timed at its first launches: the faster one stays.

A launch gives the same result in either order, so that the launches of the program itself are what is timed. A graph
with conditional nodes can have one executable graph at a time; so each order in turn gets some launches.
"""

from __future__ import annotations

import ctypes
import statistics
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple

from warp._src import context as warp_context

from .._cuda import DriverError, call, captured_graph

#: The orders of a trial, one after another: twice in parallel, for times that change from launch to launch.
_PHASES = (True, False, True)
_WARM, _TIMED = 2, 6

_NOT_READY = 600  # CUDA_ERROR_NOT_READY

_pending: Dict[int, "Trial"] = {}  # by executable graph


class _Interval:
    """Two events around a launch."""

    def __init__(self) -> None:
        self.start, self.end = ctypes.c_void_p(), ctypes.c_void_p()
        for event in (self.start, self.end):
            call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))

    def microseconds(self, wait: bool) -> Optional[float]:
        """The time between the events; None: the launch is not done."""
        elapsed = ctypes.c_float()
        try:
            call("cuEventSynchronize" if wait else "cuEventQuery", self.end)
        except DriverError as failure:
            if failure.result == _NOT_READY:
                return None
            raise
        call("cuEventElapsedTime", ctypes.byref(elapsed), self.start, self.end)
        return elapsed.value * 1000

    def destroy(self) -> None:
        for event in (self.start, self.end):
            call("cuEventDestroy_v2", event)


class Trial:
    """Launches a graph in both orders, and decides.

    ``order(parallel)`` gives the CUgraph the edges of one of them. ``serial_us`` and ``parallel_us`` are medians, and
    ``parallel`` is the decision; all are None before it.
    """

    def __init__(self, graph: Any, order: Callable[[bool], int]) -> None:
        self._graph, self._order = weakref.ref(graph), order
        self._device = graph.device
        self._parallel = True  # the order that the CUgraph has now
        self._launches = 0
        self._intervals: List[Tuple[Optional[bool], _Interval]] = []
        self._last: Optional[_Interval] = None
        self._key = 0
        self.serial_us: Optional[float] = None
        self.parallel_us: Optional[float] = None
        self.parallel: Optional[bool] = None
        self._instantiate(graph)
        _watch()

    def _instantiate(self, graph: Any) -> None:
        made = ctypes.c_void_p()
        create = warp_context.runtime.core.wp_cuda_graph_create_exec
        if not create(self._device.context, self._device.stream.cuda_stream, graph.graph, ctypes.byref(made)):
            raise RuntimeError(f"weir.warp: {warp_context.runtime.get_error_string()}")
        graph.graph_exec = made
        self._key = made.value or 0
        _pending[self._key] = self
        weakref.finalize(graph, _pending.pop, self._key, None)

    def _switch(self, graph: Any, parallel: bool) -> None:
        if parallel == self._parallel:
            return
        if self._last is not None:
            self._last.microseconds(wait=True)
        _pending.pop(self._key, None)
        warp_context.runtime.core.wp_cuda_graph_exec_destroy(self._device.context, graph.graph_exec)
        graph.graph_exec = None
        self._order(parallel)
        self._parallel = parallel
        self._instantiate(graph)

    def launch(self, plain: Callable[[Any, Any], Any], stream: Any) -> Any:
        """In place of the launch of the executable graph."""
        graph = self._graph()
        assert graph is not None  # its launch is under way
        with self._device.context_guard:
            handle = ctypes.c_void_p(stream if isinstance(stream, int) else ctypes.cast(stream, ctypes.c_void_p).value)
            if captured_graph(handle.value or 0) is not None:
                return plain(graph.graph_exec, stream)
            if self._launches == len(_PHASES) * (_WARM + _TIMED):
                self.decide(wait=False)
                return plain(graph.graph_exec, stream)
            phase, turn = divmod(self._launches, _WARM + _TIMED)
            self._switch(graph, _PHASES[phase])
            self._launches += 1
            interval = self._last = _Interval()
            call("cuEventRecord", interval.start, handle)
            result = plain(graph.graph_exec, stream)
            call("cuEventRecord", interval.end, handle)
            self._intervals.append((_PHASES[phase] if turn >= _WARM else None, interval))
        return result

    def decide(self, wait: bool) -> None:
        """Takes the times, if all launches of the trial are done, or waits for them."""
        graph = self._graph()
        if self.parallel is not None or graph is None or self._launches < len(_PHASES) * (_WARM + _TIMED):
            return
        with self._device.context_guard:
            if self._intervals[-1][1].microseconds(wait) is None:
                return
            times: Dict[bool, List[float]] = {True: [], False: []}
            for order, interval in self._intervals:
                if order is not None:
                    times[order].append(interval.microseconds(wait=True) or 0.0)
            for _, interval in self._intervals:
                interval.destroy()
            self._intervals.clear()
            self._last = None
            self.serial_us, self.parallel_us = statistics.median(times[False]), statistics.median(times[True])
            self.parallel = self.parallel_us < self.serial_us
            self._switch(graph, self.parallel)
            _pending.pop(self._key, None)


_watched = False


def _watch() -> None:
    """Trials see launches from now on."""
    global _watched
    if _watched:
        return
    _watched = True
    core = warp_context.runtime.core
    plain = core.wp_cuda_graph_launch

    def launch(executable: Any, stream: Any) -> Any:
        trial = _pending.get(executable.value if executable is not None else 0)
        return plain(executable, stream) if trial is None else trial.launch(plain, stream)

    core.wp_cuda_graph_launch = launch
