// SPDX-License-Identifier: Apache-2.0
//
// Levels that take little time: which tasks to run side by side between two barriers, when times are known.
#ifndef WEIR_PLAN_BARRIERS_COST_H
#define WEIR_PLAN_BARRIERS_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/graph.h"

// What tasks and barriers cost. A level takes as long as its longest task, or as long as the whole device needs for the
// work of all its tasks, whichever is more. A program takes the sum over its levels, and a barrier between each two.
typedef struct weir__barrier_costs {
  const double *times; // per task: alone on the device; at least 0
  const double *works; // per task: its time times the part of the device that it occupies; NULL: of no account
  double barrier;      // what a barrier adds
} weir__barrier_costs;

// The time of a program by levels, each below `level_count`; levels without tasks count for nothing. On failure
// *out_time is 0. Errors: OUT_OF_MEMORY. O(tasks + levels).
weir_status weir__barrier_levels_time(const weir__barrier_costs *costs, uint32_t task_count, const uint32_t *levels,
                                      uint32_t level_count, double *out_time);

// Chooses levels so that the time is small; every predecessor gets a lower level than its task, and no level is empty.
// `fewest`: as many levels as the longest chain has tasks, so that no order has fewer barriers; otherwise more levels
// where that is cheaper, barriers included. Never slower than the earliest levels, those of weir__plan_levels.
// `out_levels` has room for task_count; `out_time` may be NULL. Errors: OUT_OF_MEMORY.
//
// The best levels are hard to find: it is scheduling in batches, where a batch takes as long as its longest job, with
// precedence. This is a heuristic. It fills levels by several simple rules: as early as possible; as late as possible;
// and list scheduling, where the most urgent task that is ready (that with the heaviest path to the end, or the
// shortest) opens a level, and other ready tasks join it unless they would make it much longer. It improves what each
// rule gives: tasks move one at a time to the level, between those of their predecessors and successors, where the sum
// falls most, and neighbouring levels that nothing keeps apart are joined; a round that gains less than a thousandth is
// the last. What takes the least time is the answer. A task looks at 64 levels to each side and there are at most 8
// rounds, so the time is O((tasks + edges) log tasks), with a large factor.
weir_status weir__barrier_balance(const weir__plan_graph *graph, const weir__barrier_costs *costs, bool fewest,
                                  uint32_t *out_levels, uint32_t *out_level_count, double *out_time);

#endif // WEIR_PLAN_BARRIERS_COST_H
