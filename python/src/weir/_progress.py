# SPDX-License-Identifier: Apache-2.0
"""A line on stderr that says how far a long operation is."""

import os
import sys
import time
from types import TracebackType
from typing import Optional, TextIO, Type

_AFTER_SECONDS = 0.5  # operations that are done earlier show nothing
_BETWEEN_SECONDS = 0.1
_CELLS, _COLUMNS = 20, 100

_allowed = True
_shown: Optional["Progress"] = None  # the bar that has the line


def progress(shown: bool) -> None:
    """Says whether long operations of this process show a line on stderr that says how far they are.

    They do by default, where stderr is a terminal or a notebook, when they have taken half a second. Any thread may
    call this; bars that are shown stop at once.
    """
    global _allowed
    _allowed = bool(shown)


def _now() -> float:
    return time.monotonic()


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and getattr(shell, "kernel", None) is not None


def _screen() -> Optional[TextIO]:
    """The stream to draw on; None: nobody looks at it."""
    out = sys.stderr
    try:
        return out if out is not None and (out.isatty() or _in_notebook()) else None
    except (AttributeError, ValueError):
        return None  # a replacement of stderr, or a closed one


def _columns(out: TextIO) -> int:
    try:
        return os.get_terminal_size(out.fileno()).columns or _COLUMNS
    except (AttributeError, OSError, ValueError):
        return _COLUMNS


def _duration(seconds: float) -> str:
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    return (
        f"{whole // 60}:{whole % 60:02}" if whole < 3600 else f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
    )


class Progress:
    """A bar for one operation, used as a context manager: `with Progress("capture", 3) as bar: ... bar.step()`.

    description: what the operation is. total: its number of steps; None: unknown. The bar is drawn by calls of step
    alone, at most ten times a second, and has no thread; its last state stays on the screen. At most one bar of a
    process is shown at a time: the others, nested ones for example, show nothing. A bar is for one thread.
    """

    def __init__(self, description: str, total: Optional[int] = None) -> None:
        self._description, self._total = description, total
        self._done, self._what = 0, ""
        self._began = self._drawn = _now()
        self._length = 0  # of the line on the screen; 0: nothing was drawn

    def step(self, count: int = 1, what: str = "") -> None:
        """Says that `count` more steps are done, and what comes next: step(0, "warm-up") tells the first of them."""
        self._done += count
        self._what = what
        now = _now()
        if now - self._began >= _AFTER_SECONDS and (self._length == 0 or now - self._drawn >= _BETWEEN_SECONDS):
            self._draw(now)

    def __enter__(self) -> "Progress":
        self._began = self._drawn = _now()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], where: Optional[TracebackType]
    ) -> None:
        global _shown
        if self._length > 0:
            if kind is None:
                self._what = ""
            self._draw(_now(), "\n")
        if _shown is self:
            _shown = None

    def _line(self, now: float) -> str:
        seconds = now - self._began
        if not self._total:
            parts = [f"{self._description}: {self._done}", _duration(seconds)]
        else:
            full = min(_CELLS * self._done // self._total, _CELLS)
            bar = "#" * full + "." * (_CELLS - full)
            parts = [f"{self._description}: [{bar}] {self._done}/{self._total}", _duration(seconds)]
            if 0 < self._done < self._total:
                parts.append(f"about {_duration(seconds / self._done * (self._total - self._done))} left")
        return ", ".join(parts + [self._what] if self._what else parts)

    def _draw(self, now: float, end: str = "") -> None:
        global _shown
        out = _screen()
        if not _allowed or out is None or _shown not in (None, self):
            return
        _shown, self._drawn = self, now
        line = self._line(now)[: _columns(out) - 1]
        try:
            out.write("\r" + line.ljust(self._length) + end)
            out.flush()
        except (OSError, ValueError):
            return  # the operation goes on without its bar
        self._length = len(line)
