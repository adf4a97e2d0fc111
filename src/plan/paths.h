// SPDX-License-Identifier: Apache-2.0
//
// Levels of a graph, and ranks of its tasks. Weights are times of tasks in any unit, at least 0. Each is O(tasks + edges).
#ifndef WEIR_PLAN_PATHS_H
#define WEIR_PLAN_PATHS_H

#include "plan/graph.h"

// Level of each task: 0 without predecessors, else one more than the highest among them. `out_levels` has room for
// task_count. Returns the number of levels.
uint32_t weir__plan_levels(const weir__plan_graph *graph, uint32_t *out_levels);

// Upward rank of each task: the weight of the heaviest path from its start to the end of the program; the task of the
// highest rank is the most urgent. `out_ranks` has room for task_count.
void weir__plan_upward_ranks(const weir__plan_graph *graph, const double *weights, double *out_ranks);

#endif // WEIR_PLAN_PATHS_H
