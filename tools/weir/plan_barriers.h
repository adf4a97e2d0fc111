// SPDX-License-Identifier: Apache-2.0
//
// The barriers of a recorded stream: barrier planners put to its dispatches, and what `weir plan --barriers`
// prints of them.
#ifndef WEIR_TOOLS_WEIR_PLAN_BARRIERS_H
#define WEIR_TOOLS_WEIR_PLAN_BARRIERS_H

#include <jansson.h>
#include <stdbool.h>

#include "cli.h"
#include "plan/barriers_plan.h"
#include "plan/barriers_states.h"
#include "plan_dispatches.h"

typedef struct weir__barrier_request {
  bool reorder;        // the order of dispatches is free
  uint32_t queues;     // at least 1
  bool any_count;      // one queue, reordered: more barriers where that is cheaper
  double barrier_us;   // what a barrier adds
  double semaphore_us; // from a signal to who waits for it
} weir__barrier_request;

typedef struct weir__stream_barriers {
  weir__barrier_request request;
  weir__dispatches dispatches;
  weir__barrier_plan plan;
  weir__barrier_transitions transitions;
  uint32_t each;  // barriers when there is one after every dispatch (the last needs none)
  int64_t fewest; // no plan for the asked order has fewer barriers; -1: nothing is known (several queues)
  double each_us; // estimated: a barrier after every dispatch
  double plan_us; // estimated: this plan
  double plan_ns; // measured: what planning took, from the graph of dispatches on, per dispatch
} weir__stream_barriers;

// Plans the barriers of a stream whose hazards are known, and checks the plan and the proof that it is the shortest. On
// failure `out_barriers` is empty. Errors: OUT_OF_MEMORY; INVALID_ARGUMENT
// (a check failed, which is a mistake of the planner).
weir_status weir__stream_barriers_create(const weir__stream_plan *plan, const weir__barrier_request *request,
                                         weir__stream_barriers *out_barriers);

void weir__stream_barriers_free(weir__stream_barriers *barriers);

// Prints a plan as a list to follow.
void weir__plan_print_steps(const weir__stream_plan *plan, const weir__stream_barriers *barriers);

// The numbers of a plan as a row of a table, with its columns.
void weir__plan_barriers_columns(weir__table *table);
void weir__plan_barriers_row(weir__table *table, const weir__stream_plan *plan, const weir__stream_barriers *barriers);

// The numbers of a plan, and its list, as members of an object. False: no memory.
bool weir__plan_add_barriers_json(json_t *object, const weir__stream_plan *plan, const weir__stream_barriers *barriers);

#endif // WEIR_TOOLS_WEIR_PLAN_BARRIERS_H
