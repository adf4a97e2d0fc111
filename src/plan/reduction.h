// SPDX-License-Identifier: Apache-2.0
//
// Transitive reduction: the fewest edges that force the same order.
#ifndef WEIR_PLAN_REDUCTION_H
#define WEIR_PLAN_REDUCTION_H

#include "plan/graph.h"

// Builds the graph without the edges that a longer path implies. Exact, and unique since the graph is acyclic. On
// failure `out_graph` is empty. Errors: OUT_OF_MEMORY. Time O(tasks * edges / 64), memory O(tasks + edges).
weir_status weir__plan_reduce(const weir__plan_graph *graph, weir__plan_graph *out_graph);

#endif // WEIR_PLAN_REDUCTION_H
