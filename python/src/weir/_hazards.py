# SPDX-License-Identifier: Apache-2.0
"""Which calls have to wait for which, by the bytes that they access."""

from __future__ import annotations

from bisect import bisect_left
from typing import Dict, List, NamedTuple, Optional, Sequence


class Access(NamedTuple):
    """Bytes of memory from ``start`` to ``end``, which are read, or written, too."""

    start: int
    end: int
    writes: bool


class Hazards:
    """Finds out which calls each call comes after, by the bytes that they access.

    The byte ranges in use are kept apart at the ends of all accesses that were seen, in order of their addresses.
    """

    def __init__(self) -> None:
        self._starts: List[int] = []
        self._ends: List[int] = []
        self._writers: List[int] = []
        self._readers: List[List[int]] = []

    def add(self, call: int, accesses: Sequence[Access]) -> List[int]:
        """Notes a call, and returns those that it comes after."""
        found = set()
        for access in accesses:
            for piece in self._pieces(access.start, access.end):
                if self._writers[piece] >= 0:
                    found.add(self._writers[piece])
                if access.writes:
                    found.update(self._readers[piece])
        for access in accesses:
            for piece in self._pieces(access.start, access.end):
                if access.writes:
                    self._writers[piece], self._readers[piece] = call, []
                elif self._writers[piece] != call:
                    self._readers[piece].append(call)
        found.discard(call)
        return sorted(found)

    def _split(self, at: int) -> int:
        """Makes `at` an end of pieces. Returns the first piece that starts there or later."""
        piece = bisect_left(self._starts, at)
        if piece > 0 and self._ends[piece - 1] > at:
            self._starts.insert(piece, at)
            self._ends.insert(piece, self._ends[piece - 1])
            self._ends[piece - 1] = at
            self._writers.insert(piece, self._writers[piece - 1])
            self._readers.insert(piece, list(self._readers[piece - 1]))
        return piece

    def _pieces(self, start: int, end: int) -> range:
        first = self._split(start)
        last = self._split(end)
        at, piece = start, first
        while at < end:
            if piece == last or self._starts[piece] > at:
                stop = end if piece == last else self._starts[piece]
                self._starts.insert(piece, at)
                self._ends.insert(piece, stop)
                self._writers.insert(piece, -1)
                self._readers.insert(piece, [])
                last += 1
            at = self._ends[piece]
            piece += 1
        return range(first, last)


class Wait(NamedTuple):
    """Why a call waits for an earlier one: bytes from ``start`` to ``end``. ``how`` is what the later one does."""

    earlier: int
    later: int
    start: int
    end: int
    how: str


def conflict(calls: Sequence[Sequence[Access]], earlier: int, later: int) -> Optional[Wait]:
    """The first accesses of two calls that keep them in order; None: they may overlap."""
    for one in calls[earlier]:
        for other in calls[later]:
            start, end = max(one.start, other.start), min(one.end, other.end)
            if start < end and (one.writes or other.writes):
                both = "writes what it wrote" if other.writes else "reads what it wrote"
                return Wait(earlier, later, start, end, both if one.writes else "overwrites what it reads")
    return None


def chain(calls: Sequence[Sequence[Access]], first: int, last: int) -> List[Wait]:
    """The shortest way by which ``last`` waits for ``first``, in order; empty: it does not."""
    hazards = Hazards()
    before = [hazards.add(number, calls[number]) for number in range(last + 1)]
    toward: Dict[int, int] = {last: last}
    queue = [last]
    while queue and first not in toward:
        following: List[int] = []
        for call in queue:
            for direct in before[call]:
                if direct >= first and direct not in toward:
                    toward[direct] = call
                    following.append(direct)
        queue = following
    found: List[Wait] = []
    at = first
    while at in toward and at != last:
        wait = conflict(calls, at, toward[at])
        assert wait is not None
        found.append(wait)
        at = toward[at]
    return found


def explain(names: Sequence[str], calls: Sequence[Sequence[Access]], first: int, last: int) -> List[str]:
    """Why ``last`` waits for ``first``, or that it does not: a line for each step of :func:`chain`."""
    return [
        f"{wait.later} {names[wait.later]} {wait.how}, {wait.earlier} {names[wait.earlier]}:"
        f" {wait.end - wait.start} bytes"
        for wait in chain(calls, first, last)
    ] or [f"{last} {names[last]} needs nothing of {first} {names[first]}"]
