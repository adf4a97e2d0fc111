# SPDX-License-Identifier: Apache-2.0
"""The parts of weir.torch that need no PyTorch: which calls wait for which, and where their memory is."""

import importlib
import importlib.util
import random
from typing import Iterable, List, Sequence

import pytest

from weir._hazards import Access, Hazards, chain
from weir._plan import FOREVER, Plan, Region, peak


def closure(predecessors: Sequence[Iterable[int]]) -> List[int]:
    before: List[int] = []
    for direct in predecessors:
        mask = 0
        for call in direct:
            mask |= before[call] | 1 << call
        before.append(mask)
    return before


def conflict(one: Sequence[Access], other: Sequence[Access]) -> bool:
    return any(a.start < b.end and b.start < a.end and (a.writes or b.writes) for a in one for b in other)


@pytest.mark.parametrize("seed", range(40))
def test_hazards_are_those_of_all_pairs(seed: int) -> None:
    dice = random.Random(seed)
    hazards = Hazards()
    calls: List[List[Access]] = []
    found: List[List[int]] = []
    for call in range(40):
        starts = [dice.randrange(100) for _ in range(dice.randrange(5))]
        accesses = [Access(start, start + dice.randint(1, 30), dice.random() < 0.4) for start in starts]
        found.append(hazards.add(call, accesses))
        calls.append(accesses)
    pairs = [[earlier for earlier in range(call) if conflict(calls[earlier], calls[call])] for call in range(40)]
    assert closure(found) == closure(pairs)


@pytest.mark.parametrize("seed", range(20))
def test_why_is_a_chain_of_conflicts(seed: int) -> None:
    dice = random.Random(seed)
    calls = []
    for _ in range(30):
        starts = [dice.randrange(60) for _ in range(dice.randrange(4))]
        calls.append([Access(start, start + dice.randint(1, 10), dice.random() < 0.4) for start in starts])
    pairs = [[earlier for earlier in range(call) if conflict(calls[earlier], calls[call])] for call in range(30)]
    before = closure(pairs)
    for last in range(1, 30):
        first = dice.randrange(last)
        waits = chain(calls, first, last)
        assert bool(waits) == bool(before[last] >> first & 1)
        assert not waits or (waits[0].earlier, waits[-1].later) == (first, last)
        for wait, following in zip(waits, waits[1:]):
            assert wait.later == following.earlier
        for wait in waits:
            assert conflict(calls[wait.earlier], calls[wait.later]) and wait.start < wait.end


def test_why_says_how() -> None:
    wrote, reads, other = Access(0, 8, True), Access(4, 12, False), Access(100, 108, True)
    hows = [chain([[one], [later]], 0, 1) for one, later in ((wrote, reads), (wrote, wrote), (reads, wrote))]
    assert [[(wait.how, wait.end - wait.start) for wait in waits] for waits in hows] == [
        [("reads what it wrote", 4)],
        [("writes what it wrote", 8)],
        [("overwrites what it reads", 4)],
    ]
    assert chain([[wrote], [other]], 0, 1) == []


def random_regions(dice: random.Random, calls: int) -> List[Region]:
    regions = []
    for owner in range(calls):
        for _ in range(dice.randrange(3)):
            users = sum(1 << user for user in range(owner, min(calls, owner + 10)) if dice.random() < 0.2)
            regions.append(Region(owner, dice.randint(1, 5000), users, born=2 * len(regions) + 1))
    for region in regions:
        last = max(region.owner, region.users.bit_length() - 1)
        if dice.random() < 0.9:
            region.died = max(other.born for other in regions if other.owner <= last) + 1
    return regions


@pytest.mark.parametrize("seed", range(40))
def test_memory_is_used_again_by_who_comes_after(seed: int) -> None:
    dice = random.Random(seed)
    calls = 50
    predecessors = [dice.sample(range(max(0, call - 8), call), min(call, dice.randrange(3))) for call in range(calls)]
    for budget in (FOREVER, None, 0):
        regions = random_regions(dice, calls)
        least = peak(regions)
        plan = Plan(predecessors, int(1.25 * least) if budget is None else budget)
        for region in regions:
            plan.place(region)
        before = plan.ancestors(calls - 1)
        assert plan.bytes >= least
        if budget == FOREVER:
            assert plan.added == 0 and before == closure(predecessors)
        for index, one in enumerate(regions):
            for other in regions[index + 1 :]:
                if one.offset < other.offset + other.bytes and other.offset < one.offset + one.bytes:
                    assert one.died <= other.born
                    assert not one.users & ~before[other.owner]


def test_without_pytorch_the_import_says_what_is_missing() -> None:
    if importlib.util.find_spec("torch") is not None:
        pytest.skip("PyTorch is here")
    with pytest.raises(ImportError, match="needs PyTorch 2.8"):
        importlib.import_module("weir.torch")


def test_a_budget_is_kept_where_that_is_possible() -> None:
    regions = [Region(call, 1 << 20, 1 << call, born=2 * call + 1, died=2 * call + 2) for call in range(8)]
    apart: List[List[int]] = [[] for _ in regions]  # all calls may run at the same time
    wide, narrow = Plan(apart, FOREVER), Plan(apart, 2 << 20)
    for region in regions:
        wide.place(region)
    assert wide.bytes == 8 << 20 and wide.added == 0
    for region in regions:
        narrow.place(region)
    assert narrow.bytes == 2 << 20 and narrow.added > 0
