# SPDX-License-Identifier: Apache-2.0
"""Open tasks: work of any library on a CUDA device's stream, as a task."""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Type

from weir import _core
from weir._array import Buffer
from weir._errors import InvalidArgumentError, ReleasedError, UnavailableError
from weir._event import Event

if TYPE_CHECKING:
    from weir._context import Context


class DeviceArray:
    """An argument of an open task in the device's memory, for other libraries: it has `__cuda_array_interface__`.

    Valid until the task ends, for work on the task's stream.
    """

    __slots__ = ("_array", "_stream", "address")

    def __init__(self, array: Buffer, address: int, stream: int) -> None:
        self._array = array
        self._stream = stream
        self.address = address
        """Address of the first element."""

    @property
    def shape(self) -> Tuple[int, ...]:
        """Lengths of the axes."""
        return self._array.shape

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return self._array.dtype

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        return {**self._array._interface(self.address), "stream": self._stream}

    def __repr__(self) -> str:
        return f"<weir.DeviceArray shape={self.shape} dtype={self.dtype}>"


class OpenTask:
    """A task whose work is what a thread puts on `stream` in a with block. Made by Context.open_task.

    In the block the thread must not wait for tasks. The task is done when that work is. An exception that leaves the
    block is the failure of the task. `event` is there after the block.
    """

    def __init__(self, context: "Context", accesses: Tuple[_core.Access, ...], options: Dict[str, Any]) -> None:
        for place, one in enumerate(accesses):
            if not isinstance(one, _core.Access):
                raise TypeError(
                    f"argument {place}: an open task takes accesses of buffers (weir.read(a)), and not {type(one)}"
                )
        self._context = context
        self._accesses = accesses
        self._options = options
        self._made: List[_core.Access] = []
        self._handle: Optional[_core.Handle] = None
        self._event: Optional[Event] = None
        self.stream: int = 0
        """The CUstream as a number, as torch.cuda.ExternalStream and cupy.cuda.ExternalStream take it."""
        self.cuda_context: int = 0
        """The CUcontext as a number."""
        self.lane: int = 0
        """A number below lane_count: open tasks with other lanes run at the same time."""
        self.lane_count: int = 0
        """Number of lanes."""
        self.number: int = 0
        """Number of the task, as in messages and timelines."""
        self.arrays: Tuple[DeviceArray, ...] = ()
        """The arguments, in their order."""

    @property
    def event(self) -> Event:
        """The event of the task, after the block."""
        if self._event is None:
            raise ReleasedError("the task has no event: its block did not end, or it failed")
        return self._event

    def add(self, access: _core.Access) -> None:
        """Adds an access of a buffer that was made in the block, on memory that its work allocates (Context.wrap)."""
        if not isinstance(access, _core.Access):
            raise TypeError(f"an access of a buffer is expected (weir.write(a)), and not {type(access)}")
        self._made.append(access)

    def _device(self) -> int:
        cards = [one for one in self._context.devices if one.kind == "cuda"]
        wanted = self._options.get("device")
        device = self._context.device(wanted) if wanted is not None else cards[0] if cards else None
        if device is None or device.kind != "cuda":
            what = "the context has none" if device is None else f"{device.name} is none"
            raise UnavailableError(f"an open task from Python is one of a CUDA device: {what}")
        return device.index

    def __enter__(self) -> "OpenTask":
        if self._handle is not None:
            raise InvalidArgumentError("the block of an open task runs once")
        options = {**self._options, "device": self._device()}
        begun = _core.open_begin(self._context, (None, *self._accesses), options)
        self._handle, self.stream, self.cuda_context, self.lane, self.lane_count, self.number, addresses = begun
        self.arrays = tuple(
            DeviceArray(one.array, address, self.stream) for one, address in zip(self._accesses, addresses)
        )
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], where: Optional[TracebackType]
    ) -> None:
        assert self._handle is not None
        if error is None:
            try:
                self._event = _core.open_end(self._handle, tuple(self._made))
                return
            except BaseException as failure:
                _core.open_abandon(self._handle, self.number, failure)
                raise
        _core.open_abandon(self._handle, self.number, error)
