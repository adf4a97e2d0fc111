// SPDX-License-Identifier: Apache-2.0
//
// Levels and weighted paths of a graph. Weights are times of tasks in any unit, at least 0. Each is O(tasks + edges).
#ifndef WEIR_PLAN_PATHS_H
#define WEIR_PLAN_PATHS_H

#include <stdbool.h>

#include "plan/graph.h"

// Level of each task: 0 without predecessors, else one more than the highest among them. `out_levels` has room for
// task_count. Returns the number of levels.
uint32_t weir__plan_levels(const weir__plan_graph *graph, uint32_t *out_levels);

// When each task would end on unlimited hardware if it started as soon as its predecessors were done. `out_ends` has
// room for task_count. Returns the latest end: the length of the critical path.
double weir__plan_earliest_ends(const weir__plan_graph *graph, const double *weights, double *out_ends);

// Upward rank of each task: the weight of the heaviest path from its start to the end of the program; the task of the
// highest rank is the most urgent. `out_ranks` has room for task_count.
void weir__plan_upward_ranks(const weir__plan_graph *graph, const double *weights, double *out_ranks);

// A critical path: a heaviest path, in program order; of several that are as heavy, the one that a walk back from the
// first task that ends last over the first such predecessors gives. `out_tasks` has room for task_count; the path's
// tasks and their number are put there. Needs what weir__plan_earliest_ends gave.
uint32_t weir__plan_critical_path(const weir__plan_graph *graph, const double *ends, uint32_t *out_tasks);

// Marks every task that must come after `task`. `out_marks` has room for task_count. Returns how many there are.
uint32_t weir__plan_descendants(const weir__plan_graph *graph, uint32_t task, bool *out_marks);

#endif // WEIR_PLAN_PATHS_H
