# SPDX-License-Identifier: Apache-2.0
"""Pipelines: several items in flight, each of which goes through the same stages."""

import operator
import threading
from collections import deque
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Deque,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
    cast,
    overload,
)

from weir import _core
from weir._array import Buffer
from weir._errors import CancelledError, InvalidArgumentError, ReleasedError
from weir._event import Event

if TYPE_CHECKING:
    from weir._context import Context
    from weir._device import Device
    from weir._kernel import Kernel

_F = TypeVar("_F", bound=Callable[..., Any])

_MOST_LINES = 62
_ACCESSES = {1: _core.read, 2: _core.write, 3: _core.update, 4: _core.commute, 6: _core.auto}  # by weir_mode


class _Work:
    """What a stage submits."""

    def __init__(self, code: Any, args: Tuple[Any, ...], options: Dict[str, Any], parallel: bool, name: str) -> None:
        self.code, self.args, self.options, self.parallel, self.name = code, args, options, parallel, name
        self.by_line: List[Tuple[Any, ...]] = []


class _Run:
    """One iteration: what each line has, and the results that nobody took yet."""

    def __init__(self, items: Iterator[Any], lines: int) -> None:
        self.items = items
        self.values: List[Any] = [None] * lines
        self.events: List[List[Event]] = [[] for _ in range(lines)]  # of kernels
        self.failures: Dict[int, BaseException] = {}
        self.stopped = False
        self._changed = threading.Condition()
        self._ready: Deque[Tuple[Any, Optional[BaseException]]] = deque()
        self._room = lines
        self._begun = self._taken = 0
        self._total: Optional[int] = None

    def next_item(self, line: int) -> bool:
        """Takes the next item; False: there is none."""
        try:
            self.values[line] = next(self.items)
        except StopIteration:
            with self._changed:
                self._total = self._begun
                self._changed.notify_all()
            return False
        finally:
            self._begun += 1
        return True

    def put(self, line: int, failure: Optional[BaseException]) -> None:
        """A result, or a failure; waits while nobody takes the earlier ones."""
        value, self.values[line] = self.values[line], None
        with self._changed:
            while len(self._ready) >= self._room and not self.stopped:
                self._changed.wait()
            self._ready.append((value, failure))
            self._changed.notify_all()

    def take(self) -> Optional[Tuple[Any]]:
        """Waits for the next result, and raises the failure that is in its place; None: there are no more."""
        with self._changed:
            while not self._ready and not self.stopped and self._total != self._taken:
                self._changed.wait()
            if self.stopped:
                raise ReleasedError("the pipeline was closed")
            if not self._ready:
                return None
            self._taken += 1
            self._changed.notify_all()
            value, failure = self._ready.popleft()
        try:
            if failure is not None:
                raise failure
            return (value,)
        finally:
            del failure  # its traceback has this frame

    def stop(self) -> None:
        """Nobody takes results any more."""
        with self._changed:
            self.stopped = True
            self._ready.clear()
            self._changed.notify_all()


class _Calls:
    """The functions that the pipeline's threads call. They keep no reference of the handle, which keeps them."""

    def __init__(self, context: "Context", works: Sequence[_Work]) -> None:
        self.context, self.works = context, works
        self.run: Optional[_Run] = None

    def stage(self, stage: int, line: int, _: None) -> Union[None, bool, str]:
        """None; False: there are no more items; or the text of a failure."""
        run = self.run
        if run is None or run.stopped:
            return "the iteration has ended"
        try:
            if stage == 0:
                return None if run.next_item(line) else False
            failure = self._submit(run, self.works[stage - 1], line)
        except BaseException as raised:
            failure = raised
        if failure is None:
            return None
        run.failures[line] = failure
        try:
            return f"{type(failure).__name__}: {failure}"
        finally:
            del failure

    def _submit(self, run: _Run, work: _Work, line: int) -> Optional[BaseException]:
        args = work.by_line[line]
        if isinstance(work.code, _core.Handle):
            run.events[line].append(self.context.submit(cast("Kernel", work.code), *args, **work.options))
            return None
        event = self.context.submit(work.code, run.values[line], *args, **work.options)
        failure = event.exception()
        if failure is None:
            run.values[line] = event._result()
        return failure

    def deliver(self, _: int, line: int, message: Optional[str]) -> None:
        """The item has left its last stage, or failed."""
        run = self.run
        if run is None:
            return
        failure = run.failures.pop(line, None)
        events, run.events[line] = run.events[line], []
        for event in events:
            failure = failure or event.exception()
        if failure is None and message is not None:
            failure = CancelledError(message)
        try:
            run.put(line, failure)
        finally:
            del failure


class Pipeline:
    """Stages that each item goes through, several items at a time; made by Context.pipeline.

        pipe = context.pipeline(lines=4)
        image, small = pipe.buffer((480, 640)), pipe.buffer((240, 320))

        @pipe.stage(weir.write(image))
        def load(path, image):
            image[:] = numpy.load(path)

        @pipe.stage(weir.read(image), weir.write(small), parallel=True)
        def shrink(_, image, small):
            small[:] = image[::2, ::2]

        @pipe.stage(weir.read(small))
        def mean(_, small):
            return float(small.mean())

        for result in pipe(paths):
            print(result)

    An item has a *line* from its first stage to its end, with its own memory for each buffer of the pipeline. A stage
    is a function that runs as a task on the CPU device, or the launch of a kernel. One iteration goes on at a time; any
    thread may begin it. The context closes its pipelines.
    """

    __slots__ = ("__weakref__", "_calls", "_closed", "_context", "_handle", "_lines", "_lock", "_storages", "_works")

    def __init__(self, context: "Context", lines: int) -> None:
        if not 1 <= operator.index(lines) <= _MOST_LINES:
            raise InvalidArgumentError(f"a pipeline has 1 to {_MOST_LINES} lines, and not {lines}")
        self._context, self._lines = context, lines
        self._works: List[_Work] = []
        self._storages: Dict[int, Tuple[_core.Storage, List[Buffer]]] = {}
        self._lock = threading.Lock()
        self._calls: Optional[_Calls] = None
        self._handle: Optional[_core.Handle] = None
        self._closed = False
        context._add_pipeline(self)

    @property
    def context(self) -> "Context":
        """The context that the pipeline belongs to."""
        return self._context

    @property
    def lines(self) -> int:
        """Most items between their first stage and their end."""
        return self._lines

    # ------------------------------------------------------------------------------------------------------------
    # Buffers and stages

    def buffer(
        self, shape: Union[int, Sequence[int]], dtype: Any = "float32", *, label: Optional[str] = None
    ) -> Buffer:
        """Creates a buffer for each line, and returns what stands for them in the accesses of stages.

        Slices of it can be used there, too. It has no contents of its own: other tasks and copies refuse it.
        """
        lines = [self._context.buffer(shape, dtype, label=label) for _ in range(self._lines)]
        one = lines[0]
        storage = _core.storage_of_lines(self._context, one.nbytes)
        self._storages[id(storage)] = (storage, lines)
        return Buffer(storage, one.dtype, one.shape, None, 0, one.nbytes, None)

    @overload
    def stage(self, function: _F, /) -> _F: ...

    @overload
    def stage(
        self, *args: Any, parallel: bool = False, priority: int = 0, label: Optional[str] = None
    ) -> Callable[[_F], _F]: ...

    def stage(self, *args: Any, parallel: bool = False, priority: int = 0, label: Optional[str] = None) -> Any:
        """A decorator: the function is the next stage.

        It gets the item, or what the function of an earlier stage returned last, and then a NumPy array for each access
        (weir.read(a), weir.write(a), weir.update(a), ...) and all other `args` as they are. Buffers of the pipeline are
        those of the item's line; others are shared by all items.

        A stage has one item at a time, in their order; with `parallel` any number. priority, label: as of
        Context.submit. The function itself is returned unchanged.
        """
        if len(args) == 1 and callable(args[0]) and not isinstance(args[0], (_core.Handle, _core.Access)):
            return self.stage(parallel=parallel, priority=priority, label=label)(args[0])

        def add(function: _F) -> _F:
            if not callable(function) or isinstance(function, _core.Handle):
                raise TypeError(f"a stage is a function, and not {type(function)}; a kernel is launched by launch()")
            name = label or str(getattr(function, "__name__", "stage"))
            self._add(_Work(function, args, {"priority": priority, "label": name}, parallel, name))
            return function

        return add

    def launch(
        self,
        kernel: "Kernel",
        *args: Any,
        groups: Union[int, Sequence[int], None] = None,
        device: Union[str, int, "Device", None] = None,
        parallel: bool = False,
        priority: int = 0,
        label: Optional[str] = None,
    ) -> None:
        """Adds a stage that launches a kernel; the arguments are those of Context.submit.

        The stage does not wait for the kernel: later tasks that use its results do, and the end of the item.
        """
        if not isinstance(kernel, _core.Handle):
            raise TypeError(f"launch() takes a kernel, and not {type(kernel)}; a function is a stage()")
        options = {"groups": groups, "device": device, "priority": priority, "label": label}
        self._add(_Work(kernel, args, options, parallel, label or "kernel"))

    def _add(self, work: _Work) -> None:
        for arg in work.args:
            if isinstance(arg, Buffer):
                raise TypeError("an argument is a buffer: say what the stage does with it: weir.read(a), weir.write(a)")
        with self._lock:
            if self._closed:
                raise ReleasedError("the pipeline is closed")
            if self._calls is not None:
                raise InvalidArgumentError("the pipeline has been used: stages are added before")
            work.by_line = [tuple(self._on_line(arg, line) for arg in work.args) for line in range(self._lines)]
            self._works.append(work)

    def _on_line(self, arg: Any, line: int) -> Any:
        """An access of the buffer that a line has."""
        if not isinstance(arg, _core.Access) or id(arg.array._storage) not in self._storages:
            return arg
        part = arg.array
        own = self._storages[id(part._storage)][1][line]
        return _ACCESSES[arg._mode](own._part(part.shape, part.strides, part.dtype, part._offset))

    # ------------------------------------------------------------------------------------------------------------
    # Iterations

    def __call__(self, items: Iterable[Any]) -> Iterator[Any]:
        """Sends items through the stages, and yields what the last function returned, in the order of the items.

        Items are taken in a thread of the pipeline's, from the first `next` on: the iterable must not need the thread
        of the caller. At most 2 * lines items are taken whose results are not. The result of an item that no function
        changed is the item.

        An exception of a stage, or of the iterable, is raised in the place of the item's result, with its traceback.
        Earlier results come before; later items are given up, stages that have begun go on to their end. The same
        happens if the iterator is closed or dropped, as a `break` does. Then the pipeline can be used again.
        """
        return self._results(iter(items))

    def _results(self, items: Iterator[Any]) -> Iterator[Any]:
        handle, run = self._begin(items)
        del items
        try:
            _core.pipeline_start(handle)
            while True:
                taken = run.take()
                if taken is None:
                    return
                yield taken[0]
                del taken
        finally:
            self._end(run)

    def _open(self) -> Tuple[_core.Handle, _Calls]:
        with self._lock:
            if self._closed:
                raise ReleasedError("the pipeline is closed")
            if self._calls is None:
                if not self._works:
                    raise InvalidArgumentError("the pipeline has no stages: pipe.stage(...) adds them")
                calls = _Calls(self._context, self._works)
                stages = (("items", False), *((one.name, one.parallel) for one in self._works))
                functions = (calls.stage, calls.deliver)
                self._handle = _core.pipeline_create(self._context, stages, self._lines, functions)
                self._calls = calls
            assert self._handle is not None
            return self._handle, self._calls

    def _begin(self, items: Iterator[Any]) -> Tuple[_core.Handle, _Run]:
        handle, calls = self._open()
        if calls.run is None:
            _core.pipeline_wait(handle)  # for an iteration whose end was interrupted; refused in a task
        with self._lock:
            if self._closed:
                raise ReleasedError("the pipeline is closed")
            if calls.run is not None:
                raise InvalidArgumentError("the pipeline has an iteration: another one begins when it has ended")
            run = calls.run = _Run(items, self._lines)
            return handle, run

    def _end(self, run: _Run) -> None:
        run.stop()
        handle, calls = self._handle, self._calls
        try:
            if handle is not None and not self._context.closed:
                _core.pipeline_cancel(handle)
                _core.pipeline_wait(handle)
        except ReleasedError:
            pass  # it was closed meanwhile, which waits, too
        finally:
            run.items = iter(())
            if calls is not None and calls.run is run:
                calls.run = None

    def _check_close(self) -> None:
        """Raises where a close is refused, before the iteration is ended for it."""
        handle = self._handle
        if handle is not None and not self._closed and not self._context.closed:
            try:
                _core.pipeline_check(handle)
            except ReleasedError:
                pass  # another thread closes it

    def close(self) -> None:
        """Ends the iteration, if there is one, waits for stages that have begun, and releases the buffers.

        A task must not wait, and so must not close a pipeline (weir.InvalidArgumentError).
        """
        self._check_close()
        with self._lock:  # no iteration begins any more
            was_closed, self._closed = self._closed, True
            handle, run = self._handle, self._calls.run if self._calls is not None else None
        if run is not None:
            run.stop()
        try:
            if handle is not None and not self._context.closed:
                handle.release()
        except InvalidArgumentError:
            self._closed = was_closed
            raise
        self._storages.clear()
        for work in self._works:
            work.by_line = []

    def __repr__(self) -> str:
        return f"<weir.Pipeline {self._lines} lines: {', '.join(one.name for one in self._works)}>"
