# SPDX-License-Identifier: Apache-2.0
"""Graphs: tasks that are recorded once and launched many times."""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, List, NamedTuple, Optional, Tuple, Type, Union

import numpy as np

from weir import _core
from weir._array import Buffer
from weir._errors import InvalidArgumentError, whole
from weir._event import Event
from weir._kernel import Kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weir._context import Context


class GraphInfo(NamedTuple):
    """State of a graph."""

    tasks: int
    """Recorded tasks, with copies and fills."""
    running: int
    """Launches in flight."""
    edges: int
    """Dependences between its tasks; 0: it changed since it was last prepared."""
    build_ns: int
    """Duration of the last preparation."""


class Graph:
    """A sequence of tasks and copies, made by Context.graph. A launch counts as one task.

        with context.graph() as graph:
            graph.submit(step, weir.read(a), weir.write(b))
        graph.launch().result()

    The end of the with block prepares the graph, so that the first launch takes no longer than later ones. Methods that
    record return the number of the node. Functions of Python run again in each launch; what they return is dropped.
    """

    __slots__ = ("__weakref__", "_context", "_handle", "_keep")

    def __init__(self, context: "Context", handle: _core.Handle) -> None:
        self._context = context
        self._handle = handle
        self._keep: List[Any] = []

    def __enter__(self) -> "Graph":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], where: Optional[TracebackType]
    ) -> None:
        if error is None and self.info.tasks:
            self.build()

    def submit(self, work: Union[Kernel, Callable[..., Any]], *args: Any, **options: Any) -> int:
        """Records a task: arguments as of Context.submit, without `after`."""
        if isinstance(work, Kernel):
            self._keep.append(work)
        return _core.graph_add(self._handle, (work, *args), options)

    def copy(self, to: Buffer, source: Buffer) -> int:
        """Records a copy of a buffer to another one of the same shape and type."""
        to._check_same(source.shape, source.dtype, "the source")
        return _core.graph_copy(self._handle, to, source)

    def copy_in(self, to: Buffer, source: "NDArray[Any]") -> int:
        """Records a copy of a NumPy array, which each launch reads anew, and which the graph keeps."""
        self._check_array(to, source)
        node = _core.graph_copy_host(self._handle, to, source.ctypes.data, True)
        self._keep.append(source)
        return node

    def copy_out(self, source: Buffer, to: "NDArray[Any]") -> int:
        """Records a copy to a NumPy array, which each launch overwrites, and which the graph keeps."""
        self._check_array(source, to)
        if not to.flags.writeable:
            raise InvalidArgumentError("the array is read-only")
        node = _core.graph_copy_host(self._handle, source, to.ctypes.data, False)
        self._keep.append(to)
        return node

    def fill(self, to: Buffer, value: Any) -> int:
        """Records a fill, as Buffer.fill."""
        return _core.graph_fill(self._handle, to, to._pattern(value))

    @staticmethod
    def _check_array(buffer: Buffer, array: "NDArray[Any]") -> None:
        if not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
            raise InvalidArgumentError("a graph copies NumPy arrays without gaps")
        buffer._check_same(array.shape, array.dtype, "the array")

    def set_arg(self, node: int, index: int, value: Any) -> None:
        """Replaces an argument of a recorded kernel for later launches: weir.read(other), or a value of equal size."""
        if isinstance(value, np.generic):
            value = value.tobytes()
        _core.graph_set_arg(self._handle, whole("node", node), whole("index", index), value)

    def build(self) -> None:
        """Prepares the graph for its device, if it changed. Without this call the next launch does it."""
        _core.graph_build(self._handle)

    def launch(self) -> Event:
        """Submits the whole graph as one task, in order with all others, and returns its Event."""
        event = _core.graph_launch(self._handle)
        if self._keep:
            event.add_done_callback(_Kept(self._keep))
        return event

    @property
    def info(self) -> GraphInfo:
        """State of the graph."""
        return GraphInfo(*_core.graph_info(self._handle))

    def times(self) -> Tuple["NDArray[np.uint64]", "NDArray[np.uint64]"]:
        """Start and end of each task of the last launch, in nanoseconds of the device (Context.graph(timing=True))."""
        count = self.info.tasks
        starts, ends = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
        _core.graph_times(self._handle, starts.ctypes.data, ends.ctypes.data, count)
        return starts, ends

    def release(self) -> None:
        """Releases the graph; launches in flight finish. Happens by itself when it is dropped."""
        self._handle.release()


class _Kept:
    """Keeps objects until a launch is done."""

    __slots__ = ("_objects",)

    def __init__(self, objects: List[Any]) -> None:
        self._objects = objects

    def __call__(self, event: Event) -> None:
        pass


def make_graph(context: "Context", device: Optional[int], queue: int, timing: bool) -> Graph:
    """See Context.graph."""
    return Graph(context, _core.graph_create(context, device, whole("queue", queue), timing))
