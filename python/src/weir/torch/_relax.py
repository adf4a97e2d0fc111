# SPDX-License-Identifier: Apache-2.0
"""Gives a captured CUgraph the edges that its nodes need (``weir/relax.h``)."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Optional, Sequence, Tuple

import torch

from .. import _core
from .._context import Context
from .._cuda import context_of, pack
from .._hazards import Access
from ._capture import Operator

_RANGE = struct.Struct("=QQ")  # weir_cuda_range: pointer, bytes


def _pack(operators: Sequence[Operator]) -> bytes:
    """What the nodes access, in their order. An operator's nodes stay in order: all write what the operator writes.

    Nodes of one that writes nothing count as not described, and so stay in order, too.
    """
    return pack(
        [
            (node, operator.accesses)
            for operator in operators
            if any(access.writes for access in operator.accesses)
            for node in range(operator.first_node, operator.end_node)
        ]
    )


def adopt(
    context: Context, graph: int, operators: Sequence[Operator], first: int, count: int, one_by_one: Optional[Access]
) -> _core.Handle:
    """A graph of Weir's with the nodes of a CUgraph, which must be in a chain.

    Operators start at node ``first``. With ``one_by_one`` nodes stay in the order of the chain, as if all wrote there.
    """
    labels = [b"copy of an input"] * first + [b"kernel of no operator"] * (count - first)
    moved = []
    for operator in operators:
        moved.append(replace(operator, first_node=operator.first_node + first, end_node=operator.end_node + first))
        for node in range(moved[-1].first_node, moved[-1].end_node):
            labels[node] = operator.name.encode()
    if one_by_one is not None:
        moved = [Operator("all", [one_by_one], 0, count)]
    return _core.adopt(context, 0, graph, _pack(moved), tuple(labels))


def relax(device: int, graph: int, operators: Sequence[Operator], check_parameters: bool) -> Tuple[int, int]:
    """Returns the number of edges, and the number of nodes that keep their place between all others.

    These are kernels that are no operator's; with ``check_parameters`` also those with a parameter that is an address
    of memory that is not of PyTorch's allocator, and so no argument's, no result's and no workspace's.
    """
    managed = None
    if check_parameters:
        segments = torch.cuda.memory_snapshot()
        managed = b"".join(_RANGE.pack(segment["address"], segment["total_size"]) for segment in segments)
    edges, undescribed = _core.relax(context_of(device), 0, graph, _pack(operators), managed)
    return edges, sum(undescribed)
