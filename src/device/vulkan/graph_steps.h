// SPDX-License-Identifier: Apache-2.0
//
// A graph's plan as steps: its dispatches, copies and fills, and the order in which they are recorded. Dispatches of one node
// follow each other; a node's first step comes after the last ones of its predecessors. Steps are recorded by levels, with a
// barrier between each two: first the earliest levels (the fewest barriers), and once the steps' times are known levels that
// take the least time (plan/barriers_cost.h).
#ifndef WEIR_DEVICE_VULKAN_GRAPH_STEPS_H
#define WEIR_DEVICE_VULKAN_GRAPH_STEPS_H

#include "device/graph.h"
#include "plan/graph.h"

typedef struct weir__vulkan_step {
  uint32_t node;
  uint32_t dispatch; // of the node's kernel
} weir__vulkan_step;

typedef struct weir__vulkan_graph_steps {
  weir__plan_graph graph;
  uint32_t count, level_count;
  weir__vulkan_step *items;
  uint32_t *firsts; // per node and one more: its first step
  uint32_t *levels; // per step
  uint32_t *order;  // steps by level
  double *times;    // per step, in us; see `timed`
  bool timed;       // `times` are measured
  bool fixed;       // the order is as good as it gets
  uint32_t version; // of the order
} weir__vulkan_graph_steps;

// Finds steps and the earliest levels; `in_order`: every step has a level of its own. False: no memory, and `out_steps` is
// empty.
bool weir__vulkan_steps_find(const weir__graph_plan *plan, bool in_order, weir__vulkan_graph_steps *out_steps);
void weir__vulkan_steps_free(weir__vulkan_graph_steps *steps);

// With the times known: levels that take less time, if there are any. Without memory the order stays as it is.
void weir__vulkan_steps_balance(weir__vulkan_graph_steps *steps);

#endif // WEIR_DEVICE_VULKAN_GRAPH_STEPS_H
