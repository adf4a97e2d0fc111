# SPDX-License-Identifier: Apache-2.0
"""Contexts and devices."""

import atexit
import operator
import os
import sys
import threading
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Type, Union

from weir import _core
from weir._array import Buffer, check_dtype, full_strides
from weir._errors import InvalidArgumentError, OutOfRangeError, ReleasedError, whole
from weir._event import Event
from weir._wrap import memory_of

if TYPE_CHECKING:
    import numpy as np

    from weir._ccode import CCode
    from weir._device import Device
    from weir._graph import Graph
    from weir._kernel import Cpu, Cuda, Kernel, OpenCL, Vulkan
    from weir._open import OpenTask
    from weir._pipeline import Pipeline
    from weir._split import Split
    from weir._timeline import Timeline
    from weir.mpi import Job
else:
    from weir import _numpy as np

_NO_RENAME, _TRACE, _IN_ORDER, _CHECK, _PLACE = 1, 2, 4, 8, 32
_ISSUE = {"auto": 0, "queues": 1, "graphs": 2, "resident": 3}

_contexts: "weakref.WeakSet[Context]" = weakref.WeakSet()
_left: List["Context"] = []  # that could not be closed where they were dropped: in a task


def check_layout(shape: Union[int, Sequence[int]], dtype: Any) -> Tuple[Tuple[int, ...], "np.dtype[Any]", int]:
    """Lengths of the axes, type and bytes of a new buffer."""
    lengths = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    lengths = tuple(operator.index(one) for one in lengths)
    kind = check_dtype(dtype)
    if min(lengths, default=1) < 1:
        raise InvalidArgumentError(f"a buffer of shape {lengths} has no elements: it has at least one")
    nbytes = kind.itemsize
    for one in lengths:
        nbytes *= one
    if nbytes >= 1 << 63:
        raise InvalidArgumentError(f"a buffer of shape {lengths} has too many bytes")
    return lengths, kind, nbytes


class Context(_core.Context):
    """Devices, and the tasks that run on them. A context manager: its end waits for all tasks.

    devices: names, separated by commas: "cpu", "cpu:4" (four workers), "cuda", "cuda:1", "opencl:0", "vulkan",
    "sim:h200". Functions of Python need a CPU device.

    window: most tasks in flight (1024). queues: of each device that has queues. memory_limit: most bytes that buffers
    take in each memory. issue: "auto", "queues", "graphs" or "resident", how tasks go to CUDA devices. seed: if not 0,
    scheduling decisions are reordered at random, for tests. rename: False keeps overwritten buffers in place, so that
    tasks wait for each other more often. rename_limit: most bytes that renaming takes. trace: record a timeline.
    in_order: one task after the other. check: find out whether tasks do what they declare. place: a task of a kernel
    that names no device goes to the device that is expected to have it done first. device_memory_limit: most bytes that
    buffers take on each device with memory of its own, in place of memory_limit.

    Any thread may use a context. In a child process that was forked it raises weir.InvalidArgumentError.
    """

    def __init__(
        self,
        devices: str = "cpu",
        *,
        window: int = 0,
        queues: int = 0,
        memory_limit: int = 0,
        issue: str = "auto",
        seed: int = 0,
        rename: bool = True,
        rename_limit: int = 0,
        trace: bool = False,
        in_order: bool = False,
        check: bool = False,
        place: bool = False,
        device_memory_limit: int = 0,
    ) -> None:
        if issue not in _ISSUE:
            raise InvalidArgumentError(f"issue is {', '.join(map(repr, _ISSUE))}, and not {issue!r}")
        chosen = ((not rename, _NO_RENAME), (trace, _TRACE), (in_order, _IN_ORDER), (check, _CHECK), (place, _PLACE))
        flags = sum(flag for on, flag in chosen if on)
        limits = (
            whole("rename_limit", rename_limit, 64),
            whole("device_memory_limit", device_memory_limit, 64),
        )
        numbers = (whole("window", window), whole("queues", queues), whole("memory_limit", memory_limit, 64))
        self._wrapped: List["weakref.ref[_core.Storage]"] = []
        self._code: List[Any] = []  # of kernels, until the context is closed
        self._pipelines: "weakref.WeakSet[Pipeline]" = weakref.WeakSet()
        self._pipelines_lock = threading.Lock()
        self._pipelines_end = False
        self._jobs: List["Job"] = []
        from weir._device import Device  # dataclasses take as long to import as the rest

        self._open(devices, *numbers, _ISSUE[issue], whole("seed", seed, 64), flags, *limits)
        self._device_list = tuple(Device(i, *one) for i, one in enumerate(self._devices()))
        _contexts.add(self)

    # ------------------------------------------------------------------------------------------------------------
    # Life

    @property
    def closed(self) -> bool:
        """Whether the context is closed, or belongs to the parent process."""
        return not self._is_open()

    def finish(self, timeout: Optional[float] = None) -> None:
        """Waits for all tasks that were submitted so far, and for what these submitted, for `timeout` seconds at most.

        Raises what the first task raised that failed since the last call, if no event told it: the exception of a
        function with its traceback, or a weir.Error; weir.TimeoutError, which names the oldest task, if the time is
        over. Later failures are not raised by this call, nor by another one.
        """
        self._finish(timeout)

    def cancel(self) -> None:
        """Skips every task that was submitted and has not started. Running tasks go on. Does not wait."""
        self._cancel()

    def close(self) -> None:
        """Ends pipelines and jobs, waits for all tasks, and releases everything. A closed context can be closed again.

        Does not raise failures of tasks: finish() does.
        """
        if self.closed:
            return
        with self._pipelines_lock:
            self._pipelines_end = True
            pipelines = list(self._pipelines)
        try:
            for one in pipelines:
                one._check_close()
            for one in pipelines:
                one.close()
            for job in list(self._jobs):
                job._end()
            self._close()
        finally:
            self._pipelines_end = False  # a task must not close the context: then it stays as it is

    def __enter__(self) -> "Context":
        if self.closed:
            raise ReleasedError("the context is closed")
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], where: Optional[TracebackType]
    ) -> None:
        """Waits, closes, and raises as finish(). After an exception tasks that did not start are skipped."""
        if self.closed:
            return
        try:
            if error is None:
                self.finish()
            else:
                self.cancel()
        finally:
            self.close()

    def __del__(self) -> None:
        try:
            if not sys.is_finalizing() and self._is_open():
                self.close()
        except InvalidArgumentError:
            _left.append(self)  # dropped in a task, which must not wait
        except Exception:
            pass

    def __repr__(self) -> str:
        if self.closed:
            return "<weir.Context closed>"
        return f"<weir.Context {','.join(one.name for one in self._device_list)}>"

    # ------------------------------------------------------------------------------------------------------------
    # Devices

    @property
    def devices(self) -> Tuple["Device", ...]:
        """The devices, in the order of their list."""
        return self._device_list

    def device(self, which: "Union[str, int, Device]") -> "Device":
        """The device with this index, name ("cuda:1"), or the first of a kind ("cuda")."""
        return self._device_list[self._device_index(which)]

    def _device_index(self, which: "Union[str, int, Device]") -> int:
        if isinstance(which, type(self._device_list[0])):
            which = which.index
        for one in self._device_list:
            if which == one.index or which == one.name:
                return one.index
        for one in self._device_list:
            if which == one.kind:
                return one.index
        names = ", ".join(one.name for one in self._device_list)
        raise OutOfRangeError(f"the context has no device {which!r}: it has {names}")

    def device_time(self, which: "Union[str, int, Device]" = 0) -> int:
        """Nanoseconds of a device since the context was created; virtual time of a simulated one."""
        return self._device_time(self._device_index(which))

    def statistics(self) -> Dict[str, int]:
        """Counts of tasks, edges, renamed buffers, copies between memories, and bytes, as in weir_statistics."""
        return self._statistics()

    # ------------------------------------------------------------------------------------------------------------
    # Buffers

    def buffer(
        self, shape: Union[int, Sequence[int]], dtype: Any = "float32", *, label: Optional[str] = None
    ) -> Buffer:
        """Creates a buffer. Its contents are undefined until a task or a copy writes them."""
        lengths, kind, nbytes = check_layout(shape, dtype)
        storage = _core.storage_create(self, nbytes, label)
        return Buffer(storage, kind, lengths, None, 0, nbytes, None)

    def array(self, source: Any, dtype: Any = None, *, label: Optional[str] = None) -> Buffer:
        """Creates a buffer with a copy of an array, or of what numpy.asarray takes. Waits for the copy."""
        array = np.ascontiguousarray(np.asarray(source, dtype)).reshape(np.shape(source))
        made = self.buffer(array.shape, array.dtype, label=label)
        made.copy_from(array).result()
        return made

    def wrap(
        self, source: Any, *, device: "Union[str, int, Device, None]" = None, label: Optional[str] = None
    ) -> Buffer:
        """Creates a buffer on the memory of an array, without a copy.

        source: a NumPy array, or any object with __cuda_array_interface__, __array_interface__, __dlpack__, or a
        writable buffer (bytearray). Its elements follow each other without gaps. CUDA memory needs the context's
        device for it: `device`, or the one that the object names, or the first.

        Weir orders the uses of the memory, and never moves it. The array is kept until its last task is done; nobody
        else may touch it while tasks use it: after finish() or event.result() it is complete. Memory that is wrapped
        already, or a part of it, gives a slice of the same buffer.
        """
        memory = memory_of(source)
        number = self._cuda_device(memory.cuda_device, device) if memory.cuda else None
        _, _, nbytes = check_layout(memory.shape, memory.dtype)
        storage, offset = self._find_wrapped(memory.address, nbytes)
        if storage is None:
            storage = _core.storage_wrap(self, memory.owner, memory.address, nbytes, number, label)
            self._wrapped.append(weakref.ref(storage))
        if memory.stream is not None and number is not None:
            _core.cuda_tasks_wait(self, number, 0 if memory.stream == 1 else memory.stream)
        strides = full_strides(memory.shape, memory.dtype.itemsize)
        whole = Buffer(storage, memory.dtype, memory.shape, None, offset, nbytes, None)
        return whole._part(memory.shape, strides, memory.dtype, 0)

    def _find_wrapped(self, address: int, nbytes: int) -> Tuple[Optional[_core.Storage], int]:
        live = []
        found: Tuple[Optional[_core.Storage], int] = (None, 0)
        for reference in self._wrapped:
            one = reference()
            if one is None or one.released:
                continue
            live.append(reference)
            if address >= one.address + one.nbytes or one.address >= address + nbytes:
                continue
            if address < one.address or address + nbytes > one.address + one.nbytes:
                raise InvalidArgumentError(
                    f"the memory overlaps a part of {one.nbytes} bytes that is wrapped already: wrap the whole first, "
                    "and take slices of its buffer"
                )
            found = (one, address - one.address)
        self._wrapped = live
        return found

    def _cuda_device(self, number: Optional[int], device: "Union[str, int, Device, None]") -> int:
        if device is not None:
            return self._device_index(device)
        cards = [one for one in self._device_list if one.kind == "cuda"]
        if number is not None:
            cards = [one for one in cards if one.name in (f"cuda:{number}", "cuda" if number == 0 else "")]
        if not cards:
            where = "CUDA memory" if number is None else f"memory of cuda:{number}"
            raise InvalidArgumentError(f"{where} cannot be wrapped: the context has no such device ({self!r})")
        return cards[0].index

    # ------------------------------------------------------------------------------------------------------------
    # Code, graphs, timelines

    def kernel(
        self,
        name: str,
        *,
        cpu: Optional["Cpu"] = None,
        cuda: Optional["Cuda"] = None,
        opencl: Optional["OpenCL"] = None,
        vulkan: Optional["Vulkan"] = None,
        code: Optional["CCode"] = None,
    ) -> "Kernel":
        """Creates a kernel with its code for each kind of device; for kinds that the context lacks it is not used.

        code: write-once C for the CPU, CUDA and OpenCL (weir.CCode).
        """
        from weir._kernel import make_kernel

        return make_kernel(self, name, cpu, cuda, opencl, vulkan, code)

    def graph(self, *, device: "Union[str, int, Device, None]" = None, queue: int = 0, timing: bool = False) -> "Graph":
        """Creates an empty graph: tasks that are recorded once and launched many times (weir.Graph)."""
        from weir._graph import make_graph

        return make_graph(self, None if device is None else self._device_index(device), queue, timing)

    def split(
        self,
        *,
        devices: Optional[Sequence["Union[str, int, Device]"]] = None,
        policy: str = "auto",
        shares: Optional[Sequence[float]] = None,
        granularities: Optional[Sequence[int]] = None,
        rounds: int = 0,
        floor: float = 0.0,
        least: int = 0,
        resident: bool = False,
        history: Optional[str] = None,
    ) -> "Split":
        """Creates a split: launches of a kernel that are cut into parts for several devices (weir.Split).

        devices: all of the context if None. policy: "auto", "static", "history", "queue", "guided" or "frames". The
        others are those of weir_split_options; 0 stands for the default.
        """
        from weir._split import make_split

        return make_split(self, devices, policy, shares, granularities, rounds, floor, least, resident, history)

    def _add_pipeline(self, one: "Pipeline") -> None:
        with self._pipelines_lock:
            if self._pipelines_end:
                raise ReleasedError("the context is being closed")
            self._pipelines.add(one)

    def pipeline(self, lines: int = 4) -> "Pipeline":
        """Creates a pipeline without stages. Up to `lines` items (1 to 62) go through its stages at the same time."""
        from weir._pipeline import Pipeline

        return Pipeline(self, lines)

    def open_task(self, *accesses: _core.Access, **options: Any) -> "OpenTask":
        """A task whose work is what this thread puts on a stream of a CUDA device in a with block.

            with context.open_task(weir.read(a), weir.write(b), device="cuda") as task:
                library_call(*task.arrays, stream=task.stream)
            task.event.result()

        options: as of submit, except groups.
        """
        from weir._open import OpenTask

        return OpenTask(self, accesses, options)

    def timeline(self) -> "Timeline":
        """The timeline of a context with trace=True: save(), clear(), and a picture in notebooks."""
        from weir._timeline import Timeline

        return Timeline(self)

    def why(self, earlier: Event, later: Event) -> str:
        """Says why a task waited for another one, or that it did not, in a context with trace=True."""
        return _core.why(earlier, later)


def _close_or_cancel(one: Context, left: Sequence[Context]) -> None:
    try:
        one.close()
    except KeyboardInterrupt:
        for other in left:
            if not other.closed:
                other.cancel()
        one.close()


def _close_all() -> None:
    """At the end of the interpreter: waits for tasks in flight, whose functions can still run, then closes.

    Ctrl-C skips what has not started in any context. After a second one the process ends without the rest.
    """
    left = [*_contexts, *_left]
    try:
        for one in left:
            try:
                _close_or_cancel(one, left)
            except Exception as failure:
                print(f"weir: {failure}", file=sys.stderr)
    finally:
        _core.end()


_core.check_interpreter()  # before the end of a subinterpreter is taken for that of the process
atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_core.after_fork)
