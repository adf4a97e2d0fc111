// SPDX-License-Identifier: Apache-2.0
//
// What a reorder window costs: schedules with a bounded number of tasks in flight and hardware without limits.
#ifndef WEIR_TOOLS_PLAN_SCHEDULE_H
#define WEIR_TOOLS_PLAN_SCHEDULE_H

#include "plan/graph.h"

// When each task ends if tasks enter a window of `window` slots in program order, slot = task mod window, as soon as
// the slot's task before is done, and start once they are in the window and their predecessors are done. A full window
// therefore holds back everything after the task that waits for a slot. `window` 0: no limit. `out_ends` has room for
// task_count. Returns the makespan. O(tasks + edges).
double weir__plan_window_schedule(const weir__plan_graph *graph, const double *weights, uint32_t window,
                                  double *out_ends);

#endif // WEIR_TOOLS_PLAN_SCHEDULE_H
