// SPDX-License-Identifier: Apache-2.0
//
// Plans over several queues: which queue runs a task, barriers within queues and semaphores between them.
#ifndef WEIR_TOOLS_PLAN_BARRIERS_QUEUES_H
#define WEIR_TOOLS_PLAN_BARRIERS_QUEUES_H

#include "plan/barriers_plan.h"
#include "plan/graph.h"

// What a plan is made for. Times are in one unit, at least 0, and only matter where queues are chosen.
typedef struct weir__barrier_queues {
  uint32_t queue_count;   // at least 1
  const uint32_t *order;  // every task once, predecessors first; NULL: program order
  const uint32_t *wanted; // per task: its queue; NULL: chosen
  const double *times;    // per task; NULL: 1 each
  double barrier_time;    // what a barrier adds
  double semaphore_time;  // what it takes from a signal to who waits for it
} weir__barrier_queues;

// Plans tasks over queues. Queues are chosen by list scheduling: in the order, each task goes where it would end first
// if a queue's epoch ran at once and a barrier waited for all of it; of queues that are equal, to the one with the
// fewest barriers and waits, then the one whose epoch grows least, then the first. This is a heuristic, which knows no
// limit to what runs at once. For the queues that it took the rest is exact: no barrier and no wait can be left out, and
// a wait that barriers and other waits imply is not there (vector clocks). `out_makespan`, which may be NULL, is when
// the last task ends by that model. On failure `out_plan` is empty. Errors: INVALID_ARGUMENT (no queue, a wanted queue
// that does not exist), OUT_OF_MEMORY. O((tasks + edges) * queues).
weir_status weir__barrier_plan_queues(const weir__plan_graph *graph, const weir__barrier_queues *queues,
                                      weir__barrier_plan *out_plan, double *out_makespan);

#endif // WEIR_TOOLS_PLAN_BARRIERS_QUEUES_H
