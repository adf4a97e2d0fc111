# SPDX-License-Identifier: Apache-2.0
"""When fills start.

A step often begins with many fills of arrays that are needed late. As nodes without predecessors all of them start with
the graph, each in a queue of its own, and the card is busy with them when it should start the longest chain. So they
start behind the first operation of that chain, one after another. That takes 5 % off a step of MuJoCo Warp in one world
(bench/results/2026-11-26-warp.md).
"""

from __future__ import annotations

from typing import List, Sequence

from .._hazards import Access, Hazards
from ._record import Operation

#: The bytes that :func:`late_fills` needs.
BYTES = 512


def _first_of_longest_chain(before: Sequence[Sequence[int]]) -> int:
    length = [1] * len(before)
    for number in reversed(range(len(before))):
        for earlier in before[number]:
            length[earlier] = max(length[earlier], length[number] + 1)
    return max((number for number, found in enumerate(before) if not found), key=length.__getitem__)


def late_fills(operations: Sequence[Operation], address: int) -> List[List[Access]]:
    """For each operation the accesses of memory at ``address``, not used otherwise, that make fills start late."""
    added: List[List[Access]] = [[] for _ in operations]
    if not operations:
        return added
    hazards, everything = Hazards(), [Access(0, 1 << 62, True)]
    before = [
        hazards.add(number, operation.accesses if operation.opaque is None else everything)
        for number, operation in enumerate(operations)
    ]
    first = _first_of_longest_chain(before)
    half = BYTES // 2
    fills = [
        number
        for number, operation in enumerate(operations)
        if number > first and operation.name == "fill" and not before[number]
    ]
    for number in fills:
        added[number] = [Access(address, address + 4, False), Access(address + half, address + half + 4, True)]
    if fills and operations[first].opaque is None:
        added[first] = [Access(address, address + 4, True)]
    return added
