// SPDX-License-Identifier: Apache-2.0
//
// Processes that are forked. A child has only the thread that forked, so nothing runs the tasks of the contexts that it
// got from its parent: it must neither wait for these nor submit more.
//
// fork takes the lock of each context, so that the child finds none half changed, and none locked for good by a thread
// that it lacks. In the child the contexts are marked as foreign. The objects are the parent's work; the memory is the
// child's copy, and is given back with the process.
#ifndef WEIR_ENGINE_PROCESS_H
#define WEIR_ENGINE_PROCESS_H

#include "engine/context.h"

// The context is the process's, until it leaves.
void weir__process_enter(weir_context *context);
void weir__process_leave(weir_context *context);

// Whether the context is that of a process which this one was forked from.
static inline bool weir__is_foreign(const weir_context *context) {
  return atomic_load_explicit(&context->host.foreign, memory_order_relaxed);
}

// Refuses a call on such a context. `what` names the call.
weir_status weir__refuse_foreign(const char *what);

// OK, or a refusal: this thread must not wait for tasks of the context. `what` names the call.
weir_status weir__check_waiter(const weir_context *context, const char *what);

#endif // WEIR_ENGINE_PROCESS_H
