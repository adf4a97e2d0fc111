// SPDX-License-Identifier: Apache-2.0
//
// A task that was checked, and for which there is room: storage, dependences, and its commitment to the window.
#ifndef WEIR_ENGINE_ADMIT_H
#define WEIR_ENGINE_ADMIT_H

#include "engine/submission.h"

// Takes a request into the window, which has room. For external events in the task's `after` memory was reserved
// (external.h). The lock is held before and after; RETRY: it was released meanwhile, to wait for memory. On failure
// nothing has changed and `*out_status` and weir_last_error() say why.
weir__admit_result weir__admit(weir_context *context, const weir__request *request, weir_event **out_event,
                               weir_status *out_status);

// The last part of weir__admit, for a task that has its slot and its accesses recorded: edges from context->order.dependences, timeline,
// and off it goes.
void weir__commit(weir_context *context, const weir__request *request, weir__task *task);

// Adds a task that enters the window to the context's timeline, with what it waits for.
void weir__trace_admitted(weir_context *context, const weir__request *request, const weir__task *task,
                          const weir__dependences *dependences);

// Makes up for memory that ran out in the middle of a submission. A predecessor that is not listed: the task, which is not
// committed yet, waits for all earlier ones. A user that is not recorded: later tasks are not let in before this one is done.
void weir__hold(weir_context *context, weir__task *task, const weir__dependences *dependences);

#endif // WEIR_ENGINE_ADMIT_H
