# SPDX-License-Identifier: Apache-2.0
"""Which calls have to wait for which, by the bytes that they access."""

from __future__ import annotations

from bisect import bisect_left
from typing import List, NamedTuple, Sequence


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
