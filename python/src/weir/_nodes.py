# SPDX-License-Identifier: Apache-2.0
"""Nodes and edges of CUgraphs, for both modules that call the driver: each has errors of its own."""

from __future__ import annotations

import ctypes
from typing import Callable, Iterable, List, Tuple

Call = Callable[..., None]  # calls a function of the driver, by its name


def nodes(call: Call, graph: int) -> List[int]:
    """The nodes of a CUgraph, as the driver lists them."""
    count = ctypes.c_size_t()
    call("cuGraphGetNodes", ctypes.c_void_p(graph), None, ctypes.byref(count))
    found = (ctypes.c_void_p * count.value)()
    if count.value > 0:  # the driver takes no room for nothing
        call("cuGraphGetNodes", ctypes.c_void_p(graph), found, ctypes.byref(count))
    return [node or 0 for node in found]


def edges(call: Call, graph: int) -> List[Tuple[int, int]]:
    """The edges of a CUgraph, as pairs of nodes."""
    count = ctypes.c_size_t()
    call("cuGraphGetEdges_v2", ctypes.c_void_p(graph), None, None, None, ctypes.byref(count))
    heads, tails = (ctypes.c_void_p * count.value)(), (ctypes.c_void_p * count.value)()
    if count.value > 0:
        kinds = (ctypes.c_ulonglong * count.value)()  # CUgraphEdgeData
        call("cuGraphGetEdges_v2", ctypes.c_void_p(graph), heads, tails, kinds, ctypes.byref(count))
    return [(head or 0, tail or 0) for head, tail in zip(heads, tails)]


def change_edges(
    call: Call, graph: int, pairs: Iterable[Tuple[int, int]], function: str = "cuGraphAddDependencies_v2"
) -> None:
    """Adds edges to a CUgraph, or removes them."""
    pairs = list(pairs)
    heads = (ctypes.c_void_p * len(pairs))(*(head for head, _ in pairs))
    tails = (ctypes.c_void_p * len(pairs))(*(tail for _, tail in pairs))
    if pairs:
        call(function, ctypes.c_void_p(graph), heads, tails, None, ctypes.c_size_t(len(pairs)))
