# SPDX-License-Identifier: Apache-2.0
"""Functions that launch Warp kernels one by one, as graphs from their second call on."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Callable, Dict, Hashable, List, Optional, Tuple

import warp

from .._hazards import Access
from ._capture import Report, ScopedCapture

#: The graphs that a function keeps: one for each set of arguments, those that were used last.
MOST_GRAPHS = 16


def _key(value: Any) -> Hashable:
    """What two arguments have in common that one graph can serve."""
    if isinstance(value, warp.array):
        return "array", value.ptr, tuple(value.shape), tuple(value.strides), str(value.dtype)
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return type(value), value
    if isinstance(value, (tuple, list)):
        return (type(value), *(_key(item) for item in value))
    return "object", id(value)


class _Work:
    """What a function does for one set of arguments, which are kept: no other object gets their identity."""

    def __init__(self, arguments: Any) -> None:
        self.arguments = arguments
        self.capture: Optional[ScopedCapture] = None
        self.result: Any = None


def _described(capture: ScopedCapture) -> List[Tuple[str, List[Any]]]:
    """The operations of all graphs of a capture, with places in memory that do not depend on where arrays were made."""
    found: List[Tuple[str, List[Any]]] = []
    for name, arguments in capture.arguments():
        parts = [
            (*capture.place(part.start), part.end - part.start) if isinstance(part, Access) else part
            for part in arguments
        ]
        found.append((name, parts))
    return found


class Accelerated:
    """What :func:`accelerate` returns. One thread at a time calls it."""

    def __init__(self, function: Callable[..., Any], device: Any, memory: float) -> None:
        self._function, self._device, self._memory = function, device, memory
        self._works: "OrderedDict[Hashable, _Work]" = OrderedDict()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        work = self._find(args, kwargs)
        if work is None:
            return self._function(*args, **kwargs)
        if work.capture is None:
            self._capture(work, args, kwargs)
        assert work.capture is not None
        warp.capture_launch(work.capture.graph)
        return work.result

    def report(self, *args: Any, **kwargs: Any) -> Optional[Report]:
        """What became of the function for such arguments; None before the second call with them."""
        work = self._works.get(self._key(args, kwargs))
        return None if work is None or work.capture is None else work.capture.report

    @staticmethod
    def _key(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Hashable:
        return _key(args), tuple((name, _key(value)) for name, value in sorted(kwargs.items()))

    def _find(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Optional[_Work]:
        """The work for such arguments; None if they are here for the first time."""
        key = self._key(args, kwargs)
        work = self._works.get(key)
        if work is None:
            self._works[key] = _Work((args, kwargs))
            if len(self._works) > MOST_GRAPHS:
                self._works.popitem(last=False)
            return None
        self._works.move_to_end(key)
        return work

    def _capture(self, work: _Work, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        """Captures twice: what differs between two calls cannot be one graph."""
        with warp.ScopedDevice(self._device):
            with ScopedCapture(memory=self._memory, relaxed=False) as first:
                self._function(*args, **kwargs)
            with ScopedCapture(memory=self._memory) as second:
                result = self._function(*args, **kwargs)
        described = _described(first), _described(second)
        for number, (one, other) in enumerate(zip(*described)):
            if one != other:
                raise RuntimeError(
                    f"weir.warp: the function does other work in each call, and cannot be accelerated: operation"
                    f" {number} is {one[0]} and then {other[0]}, with other arguments"
                )
        if len(described[0]) != len(described[1]):
            raise RuntimeError(
                f"weir.warp: the function does other work in each call, and cannot be accelerated: {len(described[0])}"
                f" operations and then {len(described[1])}"
            )
        work.capture, work.result = second, result


def accelerate(function: Callable[..., Any], device: Any = None, memory: float = 1.25) -> Accelerated:
    """A function that launches Warp kernels, as a graph of their true dependences from its second call on.

    The first call with some arguments runs as ever. The second one captures what the function does, as
    :class:`ScopedCapture` does, and launches that; so do later ones. Arguments are the same if they are equal numbers
    or strings, arrays on the same memory, or the same object. The result is that of the capture, the same object each
    time. ``device`` (the current one) and ``memory`` are as for :class:`ScopedCapture`.

    The function must launch the same work in each call with the same arguments, and leave all else as it was: what
    Python does in it happens in the first call and twice in the second, and then no more. It must not read arrays on
    the host. The second call compares two captures, and raises RuntimeError if they differ: a step that swaps two
    buffers is two steps, which can be one function.
    """
    if not callable(function):
        raise TypeError(f"weir.warp: accelerate takes a function, and not {type(function).__name__}")
    return Accelerated(function, device, memory)
