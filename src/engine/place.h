// SPDX-License-Identifier: Apache-2.0
//
// WEIR_CONTEXT_PLACE: what the placement of tasks (issue/placement.h) is asked and told. All is called with the lock held, in contexts
// that have a placement.
#ifndef WEIR_ENGINE_PLACE_H
#define WEIR_ENGINE_PLACE_H

#include "engine/context.h"

// Gives the context its placement, once all devices are known, if it is to have one. False: no memory.
bool weir__place_open(weir_context *context);

// The device for a task of a kernel that names none. NULL: there is no choice, or something is wrong with the task.
weir_device *weir__place(weir_context *context, const weir_task *task);

// The device with memory of its own that has the least of buffers, for one whose contents come from the caller; NULL: the host is to
// have it.
weir_device *weir__place_contents(const weir_context *context, uint64_t bytes);

// A task was submitted, is its device's, or is done.
void weir__place_queued(weir_context *context, const weir__task *task);
void weir__place_issued(weir_context *context, const weir__task *task);
void weir__place_done(weir_context *context, const weir__task *task, const weir__completion *completion);

#endif // WEIR_ENGINE_PLACE_H
