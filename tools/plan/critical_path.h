// SPDX-License-Identifier: Apache-2.0
//
// Heaviest paths of a graph. Weights are times of tasks in any unit, at least 0. Each is O(tasks + edges).
#ifndef WEIR_TOOLS_PLAN_CRITICAL_PATH_H
#define WEIR_TOOLS_PLAN_CRITICAL_PATH_H

#include <stdbool.h>

#include "plan/graph.h"

// When each task would end on unlimited hardware if it started as soon as its predecessors were done. `out_ends` has
// room for task_count. Returns the latest end: the length of the critical path.
double weir__plan_earliest_ends(const weir__plan_graph *graph, const double *weights, double *out_ends);

// A critical path: a heaviest path, in program order; of several that are as heavy, the one that a walk back from the
// first task that ends last over the first such predecessors gives. `out_tasks` has room for task_count; the path's
// tasks and their number are put there. Needs what weir__plan_earliest_ends gave.
uint32_t weir__plan_critical_path(const weir__plan_graph *graph, const double *ends, uint32_t *out_tasks);

// Marks every task that must come after `task`. `out_marks` has room for task_count. Returns how many there are.
uint32_t weir__plan_descendants(const weir__plan_graph *graph, uint32_t task, bool *out_marks);

#endif // WEIR_TOOLS_PLAN_CRITICAL_PATH_H
