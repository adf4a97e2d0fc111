# SPDX-License-Identifier: Apache-2.0
"""Which kernels go first where several could start.

Kernels at the same time share the card, so that one of the longest chain may wait for others that nothing waits for
yet. A chain is as long as it has nodes: times of nodes chose no better (bench/results/2026-11-27-torch.md).
"""

from __future__ import annotations

from typing import Dict, List, Sequence, Tuple


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
