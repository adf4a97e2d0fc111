# SPDX-License-Identifier: Apache-2.0
"""Warp programs as CUDA graphs of their true dependences."""

try:
    import warp as _warp
except ImportError as missing:
    raise ImportError("weir.warp needs Warp 1.19 or later: pip install warp-lang") from missing

if tuple(int(part) for part in _warp.__version__.split(".")[:2]) < (1, 19):
    raise ImportError(f"weir.warp needs Warp 1.19 or later, and this is {_warp.__version__}")

from ._accelerate import Accelerated, accelerate
from ._capture import Report, ScopedCapture

__all__ = ["Accelerated", "Report", "ScopedCapture", "accelerate"]
