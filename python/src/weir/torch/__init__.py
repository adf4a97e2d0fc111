# SPDX-License-Identifier: Apache-2.0
"""PyTorch models as CUDA graphs of their true dependences."""

try:
    import torch as _torch  # noqa: F401
except ImportError as missing:
    raise ImportError("weir.torch needs PyTorch 2.8 or later: pip install torch") from missing

from ._backend import PieceReport, backend, pieces
from ._build import Report
from ._graph import Graphed, graph

__all__ = ["Graphed", "PieceReport", "Report", "backend", "graph", "pieces"]
