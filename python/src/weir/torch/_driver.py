# SPDX-License-Identifier: Apache-2.0
"""Calls of the CUDA driver."""

from __future__ import annotations

import ctypes
from typing import Any

_library: Any = None


def call(name: str, *args: Any) -> None:
    """Calls a function of the driver with arguments of ctypes. Raises RuntimeError unless it succeeds."""
    global _library
    if _library is None:
        _library = ctypes.CDLL("libcuda.so.1")
    result = getattr(_library, name)(*args)
    if result != 0:
        raise RuntimeError(f"weir.torch: {name} returned {result}")
