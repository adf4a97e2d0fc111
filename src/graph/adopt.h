// SPDX-License-Identifier: Apache-2.0
//
// Graphs whose nodes somebody else made (weir/adopt.h): what they have of their own besides what they recorded. Kernels
// by whose code the device knows the nodes, buffers on memory that only the graph uses, and what the nodes point to. A recorded
// task that is such a node (weir__recorded.adopted) has the device's own as its `user`.
#ifndef WEIR_GRAPH_ADOPT_H
#define WEIR_GRAPH_ADOPT_H

#include "graph/graph.h"

// The graph takes over kernels, buffers and a reference to the source, also on failure: it has no task yet.
void weir__graph_adopt(weir_graph *graph, const weir__graph_adopted *adopted);

// Gives up kernels and buffers, for which no launch of the graph is queued. The lock is held.
void weir__graph_drop_adopted(weir_graph *graph);

// Forgets all of it; kernels and buffers that were not given up are the context's. The lock is held.
void weir__graph_forget_adopted(weir_graph *graph);

#endif // WEIR_GRAPH_ADOPT_H
