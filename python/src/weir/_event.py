# SPDX-License-Identifier: Apache-2.0
"""Events: tasks as futures, and in asyncio."""

import re
from typing import Any, Callable, Generator, Optional

from weir import _core
from weir._errors import CLASSES, CancelledError, TimeoutError, UpstreamFailedError

_FIRST = re.compile(r"the first task that failed is task (\d+) ")
_OK = 0
_PENDING = 1
_TIMEOUT = 2


class Event(_core.Event):
    """A task that was submitted, as a future: see concurrent.futures.Future. It can also be awaited in asyncio.

    Events may be dropped at any time: the task goes on. A failure that no event tells is raised by the context's
    finish().
    """

    __slots__ = ()

    def done(self) -> bool:
        """Whether the task is done: it ran, failed or was skipped."""
        return self._poll() != _PENDING

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Waits until the task is done, for `timeout` seconds at most. Returns whether it is; raises no failure."""
        return self._wait(timeout) != _TIMEOUT

    def result(self, timeout: Optional[float] = None) -> Any:
        """Waits, and returns what the task's function returned: None for a kernel, the array for a copy.

        Raises what the function raised, with its traceback, or a weir.Error; weir.TimeoutError if the time is over,
        which does not affect the task. A task or callback must not wait (weir.InvalidArgumentError).
        """
        failure = self.exception(timeout)
        if failure is not None:
            raise failure
        return self._result()

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        """Waits, and returns how the task failed, or None. Raises weir.TimeoutError if the time is over."""
        status = self._wait(timeout)
        if status == _OK:
            return None
        if status == _TIMEOUT:
            raise TimeoutError(f"the task is not done after {timeout} s; it goes on")
        failure = self._exception(status)
        if isinstance(failure, UpstreamFailedError) and failure.__cause__ is None:
            first = _FIRST.search(str(failure))
            failure.__cause__ = self._context._failure(int(first.group(1))) if first else None
        return failure

    def cancelled(self) -> bool:
        """Whether the task was skipped because it was cancelled."""
        return CLASSES.get(self._poll()) is CancelledError

    def add_done_callback(self, function: Callable[["Event"], Any]) -> None:
        """Calls function(event) when the task is done: at once in this thread if it is.

        Else a thread of Weir's calls it, or one that is in a call of Weir's. The function must not wait; it may submit
        tasks. What it raises goes to sys.unraisablehook.
        """
        self._on_done(function, self)

    def __await__(self) -> Generator[Any, None, Any]:
        if not self.done():
            import asyncio

            loop = asyncio.get_running_loop()
            waiter = loop.create_future()

            def wake() -> None:
                if not waiter.done():
                    waiter.set_result(None)

            def tell(_: "Event") -> None:
                try:
                    loop.call_soon_threadsafe(wake)
                except RuntimeError:
                    pass  # the loop is closed: nobody waits any more

            self.add_done_callback(tell)
            yield from waiter
        return self.result()

    def __repr__(self) -> str:
        try:
            name = _core.status_text(self._poll())[0]
        except Exception as failure:
            name = str(failure)
        return f"<weir.Event {name}>"
