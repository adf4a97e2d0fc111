# SPDX-License-Identifier: Apache-2.0
"""A memory pool of PyTorch's for each operator, so that it is known, and chosen, where an operator's memory is.

PyTorch asks an allocator of ours for the *segments* of these pools. In a first capture each segment has addresses of
its own without memory (``_virtual.py``), and the log of PyTorch's allocator says how many bytes of it were used, and
when they were free again. In a second capture each segment begins where the plan (``_plan.py``) says. PyTorch takes a
segment for larger than what was planned, but gives out no more of it, since an operator does the same each time;
:func:`is_moved` tells whether it did.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set

import torch

from .._plan import FOREVER, Region

_Log = List[Dict[str, Any]]

_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)


@dataclass
class Segment:
    """What PyTorch asked for on behalf of an operator: its ``number``-th segment."""

    operator: int
    number: int
    start: int
    bytes: int


@dataclass
class Source:
    """Gives segments. ``choose`` gets an operator, the segment's number and its size, and returns an address."""

    choose: Callable[[int, int, int], int]
    operator: int = -1
    segments: List[Segment] = field(default_factory=list)
    failure: Optional[BaseException] = None

    def give(self, size: int) -> int:
        last = self.segments[-1] if self.segments else None
        number = last.number + 1 if last is not None and last.operator == self.operator else 0
        start = self.choose(self.operator, number, size)
        self.segments.append(Segment(self.operator, number, start, size))
        return start


_source: Optional[Source] = None


def _allocate(size: int, device: int, stream: Optional[int]) -> Optional[int]:
    if _source is None:
        return None
    try:
        return _source.give(size)
    except BaseException as failure:  # PyTorch, which called, runs out of memory then
        _source.failure = failure
        return None


def _free(address: Optional[int], size: int, device: int, stream: Optional[int]) -> None:
    """Segments are their source's."""


# PyTorch calls these as long as there are pools.
_pointers = (_ALLOCATE(_allocate), _FREE(_free))


# Allocators live for good, since pools of PyTorch 2.8 do not keep theirs. Those of closed pools are used again.
_allocators: List[Any] = []
_spare: List[Any] = []


def _take_allocator() -> Any:
    """One for each pool: an allocator of PyTorch's takes no address twice at a time."""
    if _spare:
        return _spare.pop()
    allocate, free = (ctypes.cast(pointer, ctypes.c_void_p).value for pointer in _pointers)
    _allocators.append(torch._C._cuda_customAllocator(allocate, free))
    return _allocators[-1]


@contextmanager
def _allocated_from(pool: torch.cuda.MemPool) -> Iterator[None]:
    """What this thread allocates in the block comes from the pool.

    As ``torch.cuda.use_mem_pool``, which from PyTorch 2.15 on has the graph that is captured keep the pool, and raises
    when an operator has ended the capture.
    """
    device = torch.cuda.current_device()
    torch._C._cuda_beginAllocateCurrentThreadToPool(device, pool.id)
    try:
        yield
    finally:
        torch._C._cuda_endAllocateToPool(device, pool.id)
        torch._C._cuda_releasePool(device, pool.id)


class Pools:
    """Pools of a capture's operators. They may be closed when all tensors in them are gone."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._pools: List[torch.cuda.MemPool] = []
        self._allocators: List[Any] = []
        self._identities: Set[Any] = set()
        self._outside = torch.cuda.MemPool()
        self._entered: Any = None

    @contextmanager
    def others(self) -> Iterator[None]:
        """What is allocated in the block, and not by an operator, has memory of its own."""
        global _source
        previous, _source = _source, self._source
        self._enter()
        try:
            yield
        finally:
            self._exit()
            _source = previous

    def _enter(self) -> None:
        self._entered = _allocated_from(self._outside)
        self._entered.__enter__()

    def _exit(self) -> None:
        entered, self._entered = self._entered, None
        if entered is not None:
            entered.__exit__(None, None, None)

    @contextmanager
    def operator(self, number: int) -> Iterator[None]:
        """What is allocated in the block is the operator's."""
        self._source.operator = number
        allocator = _take_allocator()
        pool = torch.cuda.MemPool(allocator)
        self._pools.append(pool)
        self._allocators.append(allocator)
        self._identities.add(tuple(pool.id))
        self._exit()
        try:
            with _allocated_from(pool):
                yield
            # Workspaces are the operator's alone: two operators may run at the same time.
            torch._C._cuda_clearCublasWorkspaces()
        finally:
            self._enter()

    def living(self) -> Optional[int]:
        """An operator whose memory is in use; None: there is none."""
        segments = sorted(self._source.segments, key=lambda segment: segment.start)
        starts = [segment.start for segment in segments]
        for known in torch.cuda.memory_snapshot():
            index = find(segments, starts, known["address"])
            if index is not None and tuple(known["segment_pool_id"]) in self._identities:
                if any(block["state"] != "inactive" for block in known["blocks"]):
                    return segments[index].operator
        return None

    def close(self) -> None:
        """Gives the pools up. Nothing of theirs is in use."""
        self._pools.clear()
        _spare.extend(self._allocators)
        self._allocators.clear()


@contextmanager
def log() -> Iterator[_Log]:
    """Fills a list with what PyTorch's allocator does in the block."""
    if torch._C._cuda_isHistoryEnabled():
        raise RuntimeError("weir.torch needs the log of PyTorch's allocator, which the program has switched on itself")
    entries: _Log = []
    torch.cuda.memory._record_memory_history(enabled="all", context=None, max_entries=1 << 22)
    try:
        yield entries
        entries += torch.cuda.memory._snapshot()["device_traces"][torch.cuda.current_device()]
    finally:
        torch.cuda.memory._record_memory_history(enabled=None)


def is_moved(
    first: Sequence[Segment], first_log: _Log, second: Sequence[Segment], second_log: _Log, low: int, high: int
) -> bool:
    """Whether a second capture asked for the same memory as the first one in the same order, at other addresses.

    These are from ``low`` to before ``high``. Behind them other threads may have memory.
    """
    if [(s.operator, s.number, s.bytes) for s in first] != [(s.operator, s.number, s.bytes) for s in second]:
        return False
    if not first:
        return True
    order = sorted(range(len(first)), key=lambda index: first[index].start)
    ordered = [first[index] for index in order]
    starts = [segment.start for segment in ordered]
    moved = [e for e in second_log if e["action"] == "alloc" and low <= e["addr"] < high]
    count = 0
    for entry in first_log:
        index = find(ordered, starts, entry["addr"]) if entry["action"] == "alloc" else None
        if index is None:
            continue
        if count == len(moved) or moved[count]["size"] != entry["size"]:
            return False
        if moved[count]["addr"] - second[order[index]].start != entry["addr"] - starts[index]:
            return False
        count += 1
    return count == len(moved)


def find(segments: Sequence[Segment], starts: List[int], address: int) -> Optional[int]:
    """The index of the segment that has an address. `segments` are in order of `starts`."""
    index = bisect_right(starts, address) - 1
    inside = index >= 0 and address < segments[index].start + segments[index].bytes
    return index if inside else None


def regions(segments: Sequence[Segment], entries: _Log) -> List[Region]:
    """How much of each segment was used, and from when to when: for segments in order of their addresses."""
    starts = [segment.start for segment in segments]
    found = [Region(segment.operator, 0, 0, 0) for segment in segments]
    living: List[Set[int]] = [set() for _ in segments]
    for time, entry in enumerate(entries):
        if entry["action"] not in ("alloc", "free_requested"):
            continue
        index = find(segments, starts, entry["addr"])
        if index is None:
            continue
        region = found[index]
        if entry["action"] == "alloc":
            region.born = region.born or time
            region.died = FOREVER
            region.bytes = max(region.bytes, entry["addr"] + entry["size"] - starts[index])
            living[index].add(entry["addr"])
        else:
            living[index].discard(entry["addr"])
            if not living[index]:
                region.died = time
    return found
