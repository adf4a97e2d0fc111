# SPDX-License-Identifier: Apache-2.0
"""Which kernels go first where several could start.

Kernels at the same time share the card, so that one of the longest chain may wait for others that nothing waits for
yet. A chain is as long as it has nodes: times of nodes chose no better (bench/results/2026-11-27-torch.md).
"""

from __future__ import annotations

import ctypes
from typing import Dict, Iterable, List, Sequence, Tuple

from ._nodes import Call

_KERNEL = 0  # CU_GRAPH_NODE_TYPE_KERNEL
_PRIORITY = 8  # CU_LAUNCH_ATTRIBUTE_PRIORITY

#: CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY: without it an executable graph has the priority of its stream.
USE_PRIORITIES = 8


def on_longest_chains(order: Sequence[int], edges: Sequence[Tuple[int, int]]) -> List[int]:
    """The nodes of all longest chains. No edge may go backward in ``order``, else no node is found."""
    place: Dict[int, int] = {node: number for number, node in enumerate(order)}
    pairs = sorted((place[head], place[tail]) for head, tail in edges)
    if any(head >= tail for head, tail in pairs):
        return []
    before, after = [0] * len(order), [0] * len(order)  # nodes that must come before and after, in the longest chains
    for head, tail in pairs:
        before[tail] = max(before[tail], before[head] + 1)
    for head, tail in reversed(pairs):
        after[head] = max(after[head], after[tail] + 1)
    length = max(before, default=0)
    return [node for number, node in enumerate(order) if before[number] + after[number] == length]


def highest_priority(call: Call) -> int:
    """The priority of work that goes before all other on the current card."""
    least, greatest = ctypes.c_int(), ctypes.c_int()
    call("cuCtxGetStreamPriorityRange", ctypes.byref(least), ctypes.byref(greatest))
    return greatest.value


def set_priority(call: Call, nodes: Iterable[int], priority: int) -> None:
    """Gives the kernels among these nodes of CUgraphs a priority."""
    kind, value = ctypes.c_int(), (ctypes.c_int * 16)(priority)  # CUlaunchAttributeValue: 64 bytes
    for node in nodes:
        call("cuGraphNodeGetType", ctypes.c_void_p(node), ctypes.byref(kind))
        if kind.value == _KERNEL:
            call("cuGraphKernelNodeSetAttribute", ctypes.c_void_p(node), ctypes.c_int(_PRIORITY), value)
