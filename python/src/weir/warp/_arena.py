# SPDX-License-Identifier: Apache-2.0
"""Memory for the arrays that a captured step makes.

Warp gives such arrays memory by nodes of the graph, whose addresses are used again as soon as an array is gone. Nodes
that use the same bytes one after another wait for each other. Here each array has memory of its own, in a few large
blocks, as long as these are small; beyond that the bytes that were freed first are used again.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from typing import Any, Dict, List, Tuple

from .._cuda import call

ALIGNMENT = 256
#: Arrays of a capture have memory of their own up to this many bytes, however few are in use at a time.
FREE_OF_REUSE = 64 << 20
_BLOCK = 16 << 20

_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED: memory may be allocated while a stream is captured


def _call_in_capture(name: str, *args: Any) -> None:
    """Calls a function of the driver that a capture of this thread would not allow."""
    mode = ctypes.c_int(_RELAXED)
    call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
    try:
        call(name, *args)
    finally:
        call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))


class Arena:
    """An allocator of Warp's for one capture. Blocks are freed with the last reference to it: arrays have one each."""

    deallocate_requires_context_guard = True

    def __init__(self, device: Any, memory: float) -> None:
        self._device, self._memory = device, memory
        self._blocks: List[Tuple[int, int]] = []
        self._at = self._end = 0
        self._free: List[Tuple[int, int]] = []  # address, bytes; in the order in which they were freed
        self._sizes: Dict[int, int] = {}
        self._order: Dict[int, int] = {}  # address of an array: the number of the first allocation there
        self._in_use = self._peak = 0
        self.bytes = 0
        self.active = True

    def allocate(self, size: int) -> int:
        """As Warp's allocators: the address of ``size`` bytes."""
        address = self._choose(-(-max(size, 1) // ALIGNMENT) * ALIGNMENT)
        self._order.setdefault(address, len(self._order))
        return address

    def place(self, address: int) -> Tuple[int, int]:
        """The number of the allocation that has an address, and how far inside; -1 and the address, if it is none's."""
        starts = sorted(self._order)
        index = bisect_right(starts, address) - 1
        if index >= 0 and any(start <= address < start + size for start, size in self._blocks):
            return self._order[starts[index]], address - starts[index]
        return -1, address

    def _choose(self, size: int) -> int:
        self._in_use += size
        self._peak = max(self._peak, self._in_use)
        if self.bytes + size > max(FREE_OF_REUSE, int(self._memory * self._peak)):
            for index, (address, room) in enumerate(self._free):
                if room >= size:
                    self._free[index : index + 1] = [(address + size, room - size)] if room > size else []
                    self._sizes[address] = size
                    return address
        return self._fresh(size)

    def _fresh(self, size: int) -> int:
        if self._at + size > self._end:
            block = max(size, _BLOCK) if size < _BLOCK // 4 else size
            address = self._allocate_block(block)
            if size == block:
                self._note(address, size)
                return address
            self._at, self._end = address, address + block
        address = self._at
        self._at += size
        self._note(address, size)
        return address

    def _note(self, address: int, size: int) -> None:
        self._sizes[address] = size
        self.bytes += size

    def _allocate_block(self, size: int) -> int:
        address = ctypes.c_ulonglong()
        _call_in_capture("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self._blocks.append((address.value, size))
        return address.value

    def deallocate(self, address: int, size: int) -> None:
        """As Warp's allocators. After the capture nothing is used again: launches still use these bytes."""
        size = self._sizes.pop(address, 0)
        self._in_use -= size
        if self.active and size > 0:
            self._free.append((address, size))

    def __del__(self) -> None:
        try:
            with self._device.context_guard:
                for address, _ in self._blocks:
                    _call_in_capture("cuMemFree_v2", ctypes.c_ulonglong(address))
        except (AttributeError, RuntimeError, TypeError):
            pass  # the process ends, or the card is lost
