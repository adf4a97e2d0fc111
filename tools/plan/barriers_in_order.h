// SPDX-License-Identifier: Apache-2.0
//
// Global barriers in one queue: how few keep the order of a program, where they stand, and a proof that fewer would not.
//
// Commands of a Vulkan or D3D12 queue start in order and may overlap, unless a barrier stands between them. A global
// barrier separates everything before it from everything after it: it cuts the queue into epochs. So a plan is an order
// and an epoch for each task, and it is correct when every predecessor has a lower epoch than its task.
//
// Pure functions over a graph of predecessors (plan/graph.h). What a task is, is the caller's choice; here it is what
// one command runs: a dispatch or a copy.
#ifndef WEIR_TOOLS_PLAN_BARRIERS_IN_ORDER_H
#define WEIR_TOOLS_PLAN_BARRIERS_IN_ORDER_H

#include <stdint.h>

#include "plan/graph.h"

// The fewest barriers for tasks in a fixed order: `order` lists every task once, predecessors first, or is NULL for
// program order. `out_epochs` has room for task_count and gets each task's epoch, from 0. `out_reasons`, NULL or with
// room for task_count edges, gets one edge of the graph for each barrier: why it cannot be left out. In the order, the
// reasons' stretches from predecessor to successor do not overlap, so each needs a barrier of its own; this is the proof
// that weir__barrier_check_reasons verifies. Returns the number of barriers. O(tasks + edges).
uint32_t weir__barriers_in_order(const weir__plan_graph *graph, const uint32_t *order, uint32_t *out_epochs,
                                 weir__plan_edge *out_reasons);

// A longest chain, the proof that no order needs fewer barriers than its length less 1: each task is a predecessor of
// the next. Needs what weir__plan_levels gave. `out_tasks` has room for level_count. Returns the length, level_count.
uint32_t weir__barriers_chain(const weir__plan_graph *graph, const uint32_t *levels, uint32_t level_count,
                              uint32_t *out_tasks);

#endif // WEIR_TOOLS_PLAN_BARRIERS_IN_ORDER_H
