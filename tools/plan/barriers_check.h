// SPDX-License-Identifier: Apache-2.0
//
// Checkers of plans and of proofs that plans are the shortest. They share nothing with the planners but the types.
#ifndef WEIR_TOOLS_PLAN_BARRIERS_CHECK_H
#define WEIR_TOOLS_PLAN_BARRIERS_CHECK_H

#include <stdint.h>

#include "plan/barriers_plan.h"
#include "plan/graph.h"

// Replays a plan and proves that it runs every task once, that no wait is for a value that was not signalled before it,
// that its counts are those of its steps, and that every predecessor is done before its task because barriers and
// semaphores say so. Errors: INVALID_ARGUMENT (the message names the step, or the task and its predecessor),
// OUT_OF_MEMORY. O(tasks + edges + steps * queues).
weir_status weir__barrier_check_plan(const weir__plan_graph *graph, const weir__barrier_plan *plan);

// Verifies that no plan in this order (NULL: program order) has fewer than `count` barriers: each of the `count` reasons
// is an edge of the graph, and none starts before the one before has ended. Errors: INVALID_ARGUMENT (the message names
// the reason), OUT_OF_MEMORY.
weir_status weir__barrier_check_reasons(const weir__plan_graph *graph, const uint32_t *order,
                                        const weir__plan_edge *reasons, uint32_t count);

// Verifies that no plan in any order has fewer than `length` - 1 barriers: each of the tasks is a predecessor of the
// next. Errors: INVALID_ARGUMENT (the message names the tasks).
weir_status weir__barrier_check_chain(const weir__plan_graph *graph, const uint32_t *tasks, uint32_t length);

#endif // WEIR_TOOLS_PLAN_BARRIERS_CHECK_H
