# SPDX-License-Identifier: Apache-2.0
"""What a call changes besides its own results: a copy of it, so that launches that only measure leave no trace."""

from __future__ import annotations

import ctypes
from typing import Iterable, List, Tuple

import torch

from .._hazards import Access
from ._driver import call


def merged(accesses: Iterable[Access]) -> List[Tuple[int, int]]:
    """The ranges that accesses write, without overlaps, in order of their addresses."""
    ranges: List[Tuple[int, int]] = []
    for start, end in sorted((access.start, access.end) for access in accesses if access.writes):
        if ranges and start < ranges[-1][1]:
            ranges[-1] = ranges[-1][0], max(end, ranges[-1][1])
        else:
            ranges.append((start, end))
    return ranges


class State:
    """Bytes of the card, and the state of its random numbers."""

    def __init__(self, accesses: Iterable[Access]) -> None:
        self._ranges = merged(accesses)
        self._random = torch.cuda.get_rng_state()
        self._bytes = torch.empty(sum(end - start for start, end in self._ranges), dtype=torch.uint8, device="cuda")
        self._copy(to_memory=False)

    def restore(self) -> None:
        self._copy(to_memory=True)
        torch.cuda.set_rng_state(self._random)

    def _copy(self, to_memory: bool) -> None:
        torch.cuda.synchronize()
        at = self._bytes.data_ptr()
        for start, end in self._ranges:
            to, source = (start, at) if to_memory else (at, start)
            addresses = ctypes.c_ulonglong(to), ctypes.c_ulonglong(source)
            call("cuMemcpyDtoD_v2", *addresses, ctypes.c_size_t(end - start))
            at += end - start
        torch.cuda.synchronize()
