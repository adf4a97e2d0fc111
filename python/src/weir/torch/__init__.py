# SPDX-License-Identifier: Apache-2.0
"""PyTorch models as CUDA graphs of their true dependences."""

from ._graph import Graphed, Report, graph

__all__ = ["Graphed", "Report", "graph"]
