# SPDX-License-Identifier: Apache-2.0
"""The graphs of a capture in the orders of a trial."""

from __future__ import annotations

import contextlib
from typing import Any, List, Sequence, Tuple

from .._cuda import call, listed_edges, listed_nodes, relax, replace_edges
from .._errors import Error
from .._hazards import Access
from .._urgent import highest_priority, on_longest_chains, set_priority
from ._trial import Order

Nodes = List[Tuple[int, Sequence[Access]]]  # numbers of nodes, with what they access


def _set_priorities(graph: int, order: Order) -> None:
    """Gives the kernels of a CUgraph, which has its edges, the priorities of an order."""
    nodes = listed_nodes(graph)
    set_priority(call, nodes, 0)
    if order == Order.LONGEST_FIRST:
        set_priority(call, on_longest_chains(nodes, listed_edges(graph)), highest_priority(call))


class Arrangement:
    """CUgraphs of one capture, which get the edges that their nodes need, and then any order.

    The edges are found here alone, while the memory that the nodes use is there. A launch needs that memory, but the
    order may change after the last one, when arrays of the program are gone. ``dependences`` is the number of edges.
    Raises an error of Weir's, or DriverError, and leaves each graph with edges for the same results.
    """

    def __init__(self, device: Any, graphs: Sequence[Tuple[int, Nodes]]) -> None:
        self._device = device
        self.dependences = 0
        with device.context_guard:
            self._captured = [(graph, listed_edges(graph)) for graph, _ in graphs]
            try:
                for graph, nodes in graphs:
                    self.dependences += relax(device.ordinal, graph, nodes)[0]
            except Error:
                with contextlib.suppress(RuntimeError):
                    self.arrange(Order.SERIAL)
                raise
            self._needed = [(graph, listed_edges(graph)) for graph, _ in graphs]

    def arrange(self, order: Order) -> None:
        """Gives the graphs an order. Executable graphs stay as they are."""
        with self._device.context_guard:
            for graph, edges in self._captured if order == Order.SERIAL else self._needed:
                replace_edges(graph, edges)
                _set_priorities(graph, order)
