# SPDX-License-Identifier: Apache-2.0
"""Addresses without memory behind each of them, by CUDA's virtual memory management.

While a model is captured nothing runs, so that its operators need addresses, but no memory. All addresses of a
:class:`Space` lead to the same few bytes.
"""

from __future__ import annotations

import ctypes
from typing import List, Tuple

from ._driver import call

_PINNED = 1  # CU_MEM_ALLOCATION_TYPE_PINNED
_DEVICE = 1  # CU_MEM_LOCATION_TYPE_DEVICE
_READ_WRITE = 3  # CU_MEM_ACCESS_FLAGS_PROT_READWRITE


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _Properties(ctypes.Structure):  # CUmemAllocationProp
    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("metadata", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    ]


class _Access(ctypes.Structure):  # CUmemAccessDesc
    _fields_ = [("location", _Location), ("flags", ctypes.c_int)]


class Space:
    """A supply of addresses of one card. They end with :meth:`close`."""

    def __init__(self, device: int) -> None:
        self._location = _Location(_DEVICE, device)
        properties = _Properties(type=_PINNED, location=self._location)
        granularity = ctypes.c_size_t()
        call("cuMemGetAllocationGranularity", ctypes.byref(granularity), ctypes.byref(properties), 0)
        self._chunk = granularity.value
        self._handle = ctypes.c_ulonglong()
        self._ranges: List[Tuple[int, int]] = []
        call(
            "cuMemCreate",
            ctypes.byref(self._handle),
            ctypes.c_size_t(self._chunk),
            ctypes.byref(properties),
            ctypes.c_ulonglong(0),
        )

    def reserve(self, size: int) -> int:
        """The first of `size` addresses that nothing else has."""
        size = -(-size // self._chunk) * self._chunk
        start = ctypes.c_ulonglong()
        zero = ctypes.c_ulonglong(0)
        call("cuMemAddressReserve", ctypes.byref(start), ctypes.c_size_t(size), ctypes.c_size_t(0), zero, zero)
        for at in range(start.value, start.value + size, self._chunk):
            address, chunk = ctypes.c_ulonglong(at), ctypes.c_size_t(self._chunk)
            call("cuMemMap", address, chunk, ctypes.c_size_t(0), self._handle, zero)
        access = _Access(self._location, _READ_WRITE)
        call("cuMemSetAccess", start, ctypes.c_size_t(size), ctypes.byref(access), ctypes.c_size_t(1))
        self._ranges.append((start.value, size))
        return start.value

    def close(self) -> None:
        """Gives all addresses back. Nothing on the card may use them any more."""
        for start, size in self._ranges:
            for at in range(start, start + size, self._chunk):
                call("cuMemUnmap", ctypes.c_ulonglong(at), ctypes.c_size_t(self._chunk))
            call("cuMemAddressFree", ctypes.c_ulonglong(start), ctypes.c_size_t(size))
        self._ranges.clear()
        if self._handle.value:
            call("cuMemRelease", self._handle)
            self._handle = ctypes.c_ulonglong()
