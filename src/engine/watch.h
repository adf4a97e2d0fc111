// SPDX-License-Identifier: Apache-2.0
//
// What the engine tells ThreadSanitizer (device/watch.h): submissions, and what waiting promises. Nothing, where nobody watches.
#ifndef WEIR_ENGINE_WATCH_H
#define WEIR_ENGINE_WATCH_H

#include "device/watch.h"
#include "engine/submission.h"

// Besides WEIR_CONTEXT_* in weir__host.flags: it has a `watch`.
#define WEIR__CONTEXT_WATCHED (1u << 30)

// Begins to watch a context, whose window is there.
void weir__watch_open(weir_context *context);

// The task, whose dependences and storage are known, is about to be committed. The lock is held.
void weir__watch_admit(weir_context *context, const weir__request *request, weir__task *task,
                       const weir__dependences *dependences);

// The caller submits a task that is queued. The lock is held.
void weir__watch_queue(weir_event *event);

// The calling thread learns that a task is done, that all are, or that those of a group are.
static inline void weir__watch_acquire(weir__sync *sync) {
  if (__builtin_expect(sync != NULL, false)) weir__tsan_acquire(&sync->end);
}

static inline void weir__watch_acquire_all(const weir_context *context) {
  if (__builtin_expect(context->host.watch != NULL, false)) weir__tsan_acquire(&context->host.watch->all->end);
}

// Calls a callback, the library's `own` or the caller's, or what frees a task's data. No lock is held.
void weir__watch_call_back(const weir_event *event, const weir__completion_target *target, bool own,
                           weir_status status);
void weir__watch_call_destroy(const weir_event *event, void (*destroy)(void *user), void *user);

#endif // WEIR_ENGINE_WATCH_H
