# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one class for each status of Weir."""

import builtins
import operator
from typing import Any, Dict, Type

from weir import _core


class Error(Exception):
    """A call or a task that failed. The text is Weir's: it names the task, the argument, the buffer and the bytes."""

    status: int = 0
    """Number of the status, as in weir/weir.h."""

    @property
    def status_name(self) -> str:
        """Name of the status, such as "WEIR_ERROR_OUT_OF_RANGE"."""
        return _core.status_text(self.status)[0]


class TimeoutError(Error, builtins.TimeoutError):
    """The time is over. The task goes on."""

    status = 2


class InvalidArgumentError(Error, ValueError):
    """An argument that can never be right."""

    status = 3


class OutOfRangeError(Error, IndexError):
    """A byte range that leaves its buffer, or a number of something that is not there."""

    status = 4


class ReleasedError(Error):
    """An object that was released before, or whose context is closed."""

    status = 5


class NoCodeError(Error):
    """The kernel has no code for the device."""

    status = 6


class OutOfMemoryError(Error, MemoryError):
    """No memory, or more than the context's limit."""

    status = 7


class UnavailableError(Error):
    """A device or library that this machine lacks."""

    status = 8


class TaskFailedError(Error):
    """The task itself reported failure. A function of Python's gives the exception that it raised instead."""

    status = 9


class UpstreamFailedError(Error):
    """The task was skipped: it reads data of a task that failed. The cause is that task's exception, if it is known."""

    status = 10


class CancelledError(Error):
    """The task was skipped: its context or its group was cancelled."""

    status = 11


class DeviceLostError(Error):
    """The device stopped working."""

    status = 12


class FileError(Error, OSError):
    """A file could not be read or written."""

    status = 13


CLASSES: Dict[int, Type[Error]] = {
    one.status: one
    for one in (
        TimeoutError,
        InvalidArgumentError,
        OutOfRangeError,
        ReleasedError,
        NoCodeError,
        OutOfMemoryError,
        UnavailableError,
        TaskFailedError,
        UpstreamFailedError,
        CancelledError,
        DeviceLostError,
        FileError,
    )
}


def whole(name: str, value: Any, bits: int = 32) -> int:
    """A number of an option, as C takes it: those that do not fit are refused, not cut."""
    number = operator.index(value)
    if not 0 <= number < 1 << bits:
        raise InvalidArgumentError(f"{name} is a number from 0 to 2**{bits} - 1, and not {number}")
    return number
