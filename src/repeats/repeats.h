// SPDX-License-Identifier: Apache-2.0
//
// The trace cache of a context: runs of submissions that came before are recognised task by task, held back, and launched as one
// graph. docs/inside/trace-cache.md has the design.
//
// The lock is held for all functions. Tasks that are held back have not been submitted: whatever else is called in the context
// submits them first (weir__context_lock), and so does an idle thread if they wait for long.
#ifndef WEIR_REPEATS_REPEATS_H
#define WEIR_REPEATS_REPEATS_H

#include "engine/submit.h"

// Gives the context a trace cache, where its flags and devices allow it. Without memory it has none.
void weir__repeats_open(weir_context *context);
void weir__repeats_close(weir_context *context); // nothing is held back

// Submits a task of the caller's that is not plain, or in a context that has a trace cache.
weir_status weir__repeats_submit_other(weir_context *context, const weir_task *task, weir_event **out_event);

// Submits a task of the caller's, or holds it back if it continues a run that came before. As weir__submit_task.
static inline weir_status weir__repeats_submit(weir_context *context, const weir_task *task, weir_event **out_event) {
  if (weir__submit_short(context, task, out_event)) return WEIR_OK;
  return weir__repeats_submit_other(context, task, out_event);
}

// Whether some tasks are held back, as far as can be seen without the lock, and not in a process that was forked.
static inline bool weir__repeats_hold_back(const weir_context *context) {
  return atomic_load_explicit(&context->host.held, memory_order_relaxed) != 0 &&
         !atomic_load_explicit(&context->host.foreign, memory_order_relaxed);
}

// Submits a task of the caller's that is probably to be held back with them. Takes the lock.
weir_status weir__repeats_submit_next(weir_context *context, const weir_task *task, weir_event **out_event);

#endif // WEIR_REPEATS_REPEATS_H
