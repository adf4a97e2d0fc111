# SPDX-License-Identifier: Apache-2.0
"""The orders of a graph, timed at its first launches: the fastest one stays.

A launch gives the same result in each order, so that the launches of the program itself are what is timed. A graph
with conditional nodes can have one executable graph at a time; so each order in turn gets some launches.
"""

from __future__ import annotations

import contextlib
import ctypes
import enum
import statistics
import weakref
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from warp._src import context as warp_context

from .._cuda import DriverError, call, captured_graph
from .._errors import Error
from .._urgent import USE_PRIORITIES


class Order(enum.Enum):
    """In which order the nodes of a graph run."""

    SERIAL = "as captured"
    PARALLEL = "by dependences"
    LONGEST_FIRST = "by dependences, and kernels of the longest chain have priority"


#: The orders of a trial, one after another: those in parallel twice, for times that change from launch to launch.
_PHASES = (Order.LONGEST_FIRST, Order.PARALLEL, Order.SERIAL, Order.LONGEST_FIRST, Order.PARALLEL)
FIRST = _PHASES[0]
_WARM, _TIMED = 2, 6
#: The launches of a trial.
LAUNCHES = len(_PHASES) * (_WARM + _TIMED)

_AUTO_FREE = 1  # CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH, with which Warp instantiates
FLAGS = _AUTO_FREE | USE_PRIORITIES
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


def destroy_executable(graph: Any) -> None:
    """Destroys the executable graph of a graph of Warp's, which makes another one at its next launch."""
    if graph.graph_exec is not None:
        warp_context.runtime.core.wp_cuda_graph_exec_destroy(graph.device.context, graph.graph_exec)
        graph.graph_exec = None


class Trial:
    """Launches a graph in each order, and decides.

    ``arrange(order)`` gives the CUgraph an order; it has the first one of a trial. ``times`` are medians in us, and
    ``decision`` is the order that is kept; before it they are empty and None. ``reason`` says why an order could not be
    had, which ends the trial with the one before.
    """

    def __init__(self, graph: Any, arrange: Callable[[Order], None]) -> None:
        self._graph, self._arrange = weakref.ref(graph), arrange
        self._device = graph.device
        self._order = FIRST  # that the CUgraph has now
        self._launches = 0
        self._intervals: List[Tuple[Optional[Order], _Interval]] = []
        self._last: Optional[_Interval] = None
        self._key = 0
        self.times: Dict[Order, float] = {}
        self.decision: Optional[Order] = None
        self.reason: Optional[str] = None
        with self._device.context_guard:
            self._instantiate(graph)
        _watch()

    def _instantiate(self, graph: Any) -> None:
        """As Warp does, but for priorities."""
        made = ctypes.c_void_p()
        flags = ctypes.c_ulonglong(FLAGS)
        call("cuGraphInstantiateWithFlags", ctypes.byref(made), graph.graph, flags)
        try:
            call("cuGraphUpload", made, ctypes.c_void_p(self._device.stream.cuda_stream))
        except DriverError:
            call("cuGraphExecDestroy", made)
            raise
        graph.graph_exec = made
        self._key = made.value or 0
        _pending[self._key] = self
        self._forget = weakref.finalize(graph, _pending.pop, self._key, None)

    def _unwatch(self) -> None:
        """Launches of the executable graph are no matter of this trial any more."""
        if self._forget.detach() is not None:
            _pending.pop(self._key, None)

    def _switch(self, graph: Any, order: Order) -> bool:
        """Gives the graph another order. False: it cannot have that, and the trial has ended."""
        if order == self._order:
            return True
        if self._last is not None:
            self._last.microseconds(wait=True)
        self._unwatch()
        destroy_executable(graph)
        try:
            self._arrange(order)
            self._instantiate(graph)
        except (Error, RuntimeError) as failure:
            self._go_back(graph, f"the order {order.value!r} could not be had: {failure}")
            return False
        self._order = order
        return True

    def _go_back(self, graph: Any, reason: str) -> None:
        """Ends the trial with the order before. What edges the graph has suffice, should that fail, too."""
        self.reason = reason
        with contextlib.suppress(Error, RuntimeError):
            self._arrange(self._order)
        with contextlib.suppress(RuntimeError):  # else Warp instantiates at the next launch, or says why it cannot
            self._instantiate(graph)
        self._end(self._order)

    @contextlib.contextmanager
    def without_executable(self, graph: Any) -> Iterator[None]:
        """The graph has no executable graph in between: one with conditional nodes can have no second one.

        The device is idle. Afterwards the trial goes on, in the order that it was in.
        """
        self._unwatch()
        destroy_executable(graph)
        try:
            yield
        finally:
            self._instantiate(graph)
            if self.decision is not None:
                self._unwatch()

    def keep(self, order: Order) -> None:
        """Ends the trial with this order. Raises RuntimeError if it cannot be had."""
        graph = self._graph()
        if graph is None:
            return
        with self._device.context_guard:
            if not self._switch(graph, order):
                raise RuntimeError(f"weir.warp: {self.reason}")
            self._end(order)

    def _end(self, order: Order) -> None:
        for _, interval in self._intervals:
            interval.destroy()
        self._intervals.clear()
        self._last = None
        self.decision = order
        self._unwatch()

    def launch(self, plain: Callable[[Any, Any], Any], stream: Any) -> Any:
        """In place of the launch of the executable graph."""
        graph = self._graph()
        assert graph is not None  # its launch is under way
        with self._device.context_guard:
            handle = ctypes.c_void_p(stream if isinstance(stream, int) else ctypes.cast(stream, ctypes.c_void_p).value)
            if captured_graph(handle.value or 0) is not None:
                return plain(graph.graph_exec, stream)
            if self._launches == LAUNCHES:
                self.decide(wait=False)
                return plain(graph.graph_exec, stream)
            phase, turn = divmod(self._launches, _WARM + _TIMED)
            if not self._switch(graph, _PHASES[phase]):
                if graph.graph_exec is None:
                    raise RuntimeError(f"weir.warp: {self.reason}")
                return plain(graph.graph_exec, stream)
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
        if self.decision is not None or graph is None or self._launches < LAUNCHES:
            return
        with self._device.context_guard:
            if self._intervals[-1][1].microseconds(wait) is None:
                return
            times: Dict[Order, List[float]] = {order: [] for order in Order}
            for order, interval in self._intervals:
                if order is not None:
                    times[order].append(interval.microseconds(wait=True) or 0.0)
            self.times = {order: statistics.median(found) for order, found in times.items()}
            order = min(Order, key=self.times.__getitem__)  # of equal ones the simpler
            if self._switch(graph, order):
                self._end(order)


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
