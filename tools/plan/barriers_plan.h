// SPDX-License-Identifier: Apache-2.0
//
// A plan as a list of commands that a caller can follow: dispatches, barriers, and semaphores between queues.
//
// The list is in one order for all queues; a queue runs its own commands in that order. Every queue has one timeline
// semaphore of its number. SIGNAL sets it to a value once every command before it in its queue is done; WAIT holds back
// every command after it in its queue until a semaphore has a value; neither orders other commands of the same queue.
// Signals stand before the waits for them, so that a caller who submits in the order of the list never waits for what is
// not submitted yet.
#ifndef WEIR_TOOLS_PLAN_BARRIERS_PLAN_H
#define WEIR_TOOLS_PLAN_BARRIERS_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "plan/graph.h"

typedef enum weir__barrier_step_kind {
  WEIR__BARRIER_DISPATCH = 0, // run `task`
  WEIR__BARRIER_BARRIER = 1,  // what was before in this queue is done, and visible, before what comes
  WEIR__BARRIER_SIGNAL = 2,
  WEIR__BARRIER_WAIT = 3,
} weir__barrier_step_kind;

typedef struct weir__barrier_step {
  weir__barrier_step_kind kind;
  uint32_t queue;
  uint32_t task;      // DISPATCH
  uint32_t semaphore; // SIGNAL: its own queue's; WAIT: that of another queue
  uint64_t value;     // SIGNAL, WAIT: counts from 1
} weir__barrier_step;

typedef struct weir__barrier_plan {
  weir__barrier_step *steps;
  size_t step_count;
  uint32_t task_count, queue_count;
  uint32_t barriers, signals, waits; // steps of each kind
} weir__barrier_plan;

// The plan of one queue: tasks in `order` (NULL: program order) and a barrier wherever the epoch rises. `epochs` never
// fall along the order. On failure `out_plan` is empty. Errors: OUT_OF_MEMORY. O(tasks).
weir_status weir__barrier_plan_create(uint32_t task_count, const uint32_t *order, const uint32_t *epochs,
                                      weir__barrier_plan *out_plan);

// Frees what the plan holds and leaves it empty. An empty plan is allowed.
void weir__barrier_plan_free(weir__barrier_plan *plan);

#endif // WEIR_TOOLS_PLAN_BARRIERS_PLAN_H
