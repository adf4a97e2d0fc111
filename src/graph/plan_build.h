// SPDX-License-Identifier: Apache-2.0
//
// The steps by which a plan is built: nodes (plan.c), intervals of the buffers (plan_intervals.c), edges between nodes
// (plan_edges.c, by plan_hazards.h and plan_ancestors.h), what the graph as a whole does to buffers (plan_externals.c).
#ifndef WEIR_GRAPH_PLAN_BUILD_H
#define WEIR_GRAPH_PLAN_BUILD_H

#include "graph/plan.h"
#include "graph/plan_ancestors.h"
#include "graph/plan_hazards.h"

// One buffer argument of a node. In order of nodes.
typedef struct weir__plan_use {
  uint32_t node, buffer;
  weir_mode mode;
  uint32_t first, end; // intervals of the buffer
  uint64_t lo, hi;
} weir__plan_use;

typedef struct weir__plan_builder {
  weir_graph *graph;
  weir__graph_plan *plan;
  weir__plan_ancestors ancestors;
  weir__plan_hazards hazards;
  size_t edge_capacity; // of the plan's predecessors
  weir__plan_use *uses;
  uint32_t *by_buffer;   // numbers of uses, in order of buffers and then of nodes
  uint32_t *buffer_uses; // per buffer, and one more: where its part of `by_buffer` begins
  uint32_t use_count;
  bool has_wall; // some node so far is one: ancestors.wall is the last
} weir__plan_builder;

// Each is a step; false: no memory. find_intervals: cuts each buffer where a use begins or ends. find_edges: the hazards
// between nodes, and their order where the context keeps one. find_externals: which bytes the graph reads from outside and
// which it writes.
bool weir__plan_find_intervals(weir__plan_builder *build);
bool weir__plan_find_edges(weir__plan_builder *build);
bool weir__plan_find_externals(weir__plan_builder *build);

#endif // WEIR_GRAPH_PLAN_BUILD_H
