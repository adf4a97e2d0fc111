# SPDX-License-Identifier: Apache-2.0
"""Calls of the CUDA driver, and the edges of captured graphs, for what frameworks capture in their own streams."""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import _core, _nodes
from ._context import Context
from ._hazards import Access

_READ, _READ_WRITE = 1, 3  # of weir_mode
_ACCESS = struct.Struct("=QQIi16x")  # weir_cuda_access: pointer, bytes, node, mode

_library: Any = None
_contexts: Dict[int, Context] = {}


class DriverError(RuntimeError):
    """A call of the CUDA driver failed. ``result`` is the driver's CUresult."""

    def __init__(self, name: str, result: int) -> None:
        super().__init__(f"weir: {name} returned {result}")
        self.result = result


def call(name: str, *args: Any) -> None:
    """Calls a function of the driver with arguments of ctypes. Raises DriverError unless it succeeds."""
    global _library
    if _library is None:
        _library = ctypes.CDLL(os.environ.get("WEIR_CUDA_DRIVER") or "libcuda.so.1")
    result = getattr(_library, name)(*args)
    if result != 0:
        raise DriverError(name, result)


def captured_graph(stream: int) -> Optional[int]:
    """The CUgraph into which a stream is being captured; None: it is not."""
    status, identity, graph = ctypes.c_int(), ctypes.c_ulonglong(), ctypes.c_void_p()
    found = (ctypes.byref(item) for item in (status, identity, graph))
    call("cuStreamGetCaptureInfo_v3", ctypes.c_void_p(stream), *found, None, None, None)
    return graph.value if status.value == 1 else None


def node_count(graph: int) -> int:
    """The number of nodes of a CUgraph, without those of graphs in it."""
    nodes = ctypes.c_size_t()
    call("cuGraphGetNodes", ctypes.c_void_p(graph), None, ctypes.byref(nodes))
    return nodes.value


def listed_nodes(graph: int) -> List[int]:
    """The nodes of a CUgraph, as the driver lists them."""
    return _nodes.nodes(call, graph)


def listed_edges(graph: int) -> List[Tuple[int, int]]:
    """The edges of a CUgraph, as pairs of nodes."""
    return _nodes.edges(call, graph)


def replace_edges(graph: int, edges: Sequence[Tuple[int, int]]) -> None:
    """Gives a CUgraph these edges in place of its own. After a DriverError it has all of its own, and maybe more."""
    own = listed_edges(graph)
    wanted, present = set(edges), set(own)
    _nodes.change_edges(call, graph, [edge for edge in edges if edge not in present])
    _nodes.change_edges(call, graph, [edge for edge in own if edge not in wanted], "cuGraphRemoveDependencies_v2")


def is_listed_chain(graph: int) -> bool:
    """Whether each node of a CUgraph waits for the one before it in the driver's list, and for no other."""
    nodes = listed_nodes(graph)
    return sorted(listed_edges(graph)) == sorted(zip(nodes, nodes[1:]))


def context_of(device: int) -> Context:
    """A context for a card, which ends with the process. It runs no task, and so needs no memory of the card."""
    if device not in _contexts:
        _contexts[device] = Context(f"cuda:{device}", issue="queues", queues=1, memory_limit=1 << 20)
    return _contexts[device]


def pack(nodes: Sequence[Tuple[int, Sequence[Access]]]) -> bytes:
    """weir_cuda_access for each access."""
    found: List[bytes] = []
    for node, accesses in nodes:
        for access in accesses:
            mode = _READ_WRITE if access.writes else _READ
            found.append(_ACCESS.pack(access.start, access.end - access.start, node, mode))
    return b"".join(found)


def adopt(
    context: Context, graph: int, nodes: Sequence[Tuple[int, Sequence[Access]]], labels: Sequence[str]
) -> _core.Handle:
    """A graph of Weir's with the nodes of a CUgraph (``weir/adopt.h``), with a label for each; else as relax."""
    return _core.adopt(context, 0, graph, pack(nodes), tuple(label.encode() for label in labels))


def relax(device: int, graph: int, nodes: Sequence[Tuple[int, Sequence[Access]]]) -> Tuple[int, int]:
    """Gives a captured CUgraph of card ``device`` the edges of its nodes' accesses (``weir/relax.h``).

    ``nodes`` are numbers of nodes, in order, each with what it accesses. Nodes that are not there keep their place.
    Returns the number of edges, and the number of nodes that keep their place between all others.
    """
    edges, undescribed = _core.relax(context_of(device), 0, graph, pack(nodes), None)
    return edges, sum(undescribed)
