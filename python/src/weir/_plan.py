# SPDX-License-Identifier: Apache-2.0
"""Where the operators of a captured model put their memory.

A tensor's bytes may be used again by an operator that comes after all users of the tensor anyway. As long as there is
room the plan does no more than that, and so adds no dependence: what could overlap with memory of its own for each
tensor can overlap with the plan. Offsets are chosen as a best-fit allocator does, in the order of the operators, with
the conditions of :class:`Plan`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterable, List, Sequence

ALIGNMENT = 512

#: The time of death of memory that is never freed.
FOREVER = 1 << 62


@dataclass
class Region:
    """Memory that an operator takes: what it returns, and what it works in.

    ``bytes`` is its size. ``users`` is the set of operators that read or write it, one bit each. ``born`` and ``died``
    are the times at which the allocator gave and got it back. ``offset`` is what :class:`Plan` chooses.
    """

    owner: int
    bytes: int
    users: int
    born: int
    died: int = FOREVER
    offset: int = field(default=-1)


def _best_fit(taken: Sequence[Region], size: int) -> int:
    """The start of the smallest gap between regions that has room, or their end."""
    best, best_size, at = -1, 0, 0
    for start, end in sorted((region.offset, region.offset + region.bytes) for region in taken):
        gap = start - at
        if gap >= size and (best < 0 or gap < best_size):
            best, best_size = at, gap
        at = max(at, end)
    return at if best < 0 else best


def peak(regions: Sequence[Region]) -> int:
    """The most bytes that are in use at a time when operators run one at a time."""
    changes = [(region.born, _rounded(region.bytes)) for region in regions]
    changes += [(region.died, -_rounded(region.bytes)) for region in regions if region.died != FOREVER]
    most = now = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most


def _rounded(size: int) -> int:
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT


class Plan:
    """Chooses offsets for regions, which come in order of their owners.

    Bytes of a region are used again by an operator if all users of the region come before it anyway, and if the region
    was freed before the operator asked for memory. Where the plan would get larger than ``budget`` bytes, bytes that
    were freed are used again although their users could overlap with the operator: it waits for them then, which is a
    dependence that the plan adds.
    """

    def __init__(self, predecessors: Sequence[Iterable[int]], budget: int) -> None:
        self._predecessors = predecessors
        self._budget = budget
        self._before: List[int] = []
        self._placed: List[Region] = []
        self.bytes = 0
        self.added = 0

    def place(self, region: Region) -> None:
        """Sets the region's offset."""
        after = self._ancestors_of(region.owner)
        region.bytes = _rounded(region.bytes)
        living = [other for other in self._placed if other.died > region.born]
        waiting = [other for other in self._placed if other.died <= region.born and other.users & ~after]
        region.offset = _best_fit(living + waiting, region.bytes)
        if region.offset + region.bytes > max(self._budget, self.bytes):
            region.offset = self._make_room(living, waiting, region.bytes)
            self._wait(region)
        end = region.offset + region.bytes
        self.bytes = max(self.bytes, end)
        region.users |= 1 << region.owner
        # What the region covers matters to later ones no more: they have to come after the region's own users.
        self._placed = [
            other
            for other in self._placed
            if other.died > region.born or other.offset < region.offset or other.offset + other.bytes > end
        ]
        self._placed.append(region)

    def _make_room(self, living: List[Region], waiting: List[Region], size: int) -> int:
        """The offset within the budget, or the lowest, that has fewest operators of late to wait for."""
        waiting = sorted(waiting, key=lambda other: other.died)
        offset = _best_fit(living + waiting, size)
        while waiting and offset + size > max(self._budget, self.bytes):
            del waiting[: max(1, len(waiting) // 8)]  # those that were freed first
            offset = _best_fit(living + waiting, size)
        return offset

    def _wait(self, region: Region) -> None:
        """The region's owner comes after all users of what it covers."""
        mask = self._ancestors_of(region.owner)
        for other in self._placed:
            if other.offset < region.offset + region.bytes and region.offset < other.offset + other.bytes:
                new = other.users & ~mask & (1 << region.owner) - 1
                self.added += bin(new).count("1")
                while new:
                    operator = new.bit_length() - 1
                    mask |= self._ancestors_of(operator) | 1 << operator
                    new &= ~mask
        self._before[region.owner] = mask

    def ancestors(self, last: int) -> List[int]:
        """For each operator up to ``last`` the set of those that are done before it starts, one bit each."""
        self._ancestors_of(last)
        return self._before

    def _ancestors_of(self, operator: int) -> int:
        while len(self._before) <= operator:
            mask = 0
            for direct in self._predecessors[len(self._before)]:
                mask |= self._before[direct] | 1 << direct
            self._before.append(mask)
        return self._before[operator]
