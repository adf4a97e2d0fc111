// SPDX-License-Identifier: Apache-2.0
//
// The tasks of a context in ThreadSanitizer's eyes: what each comes after, and who comes after it. docs/inside/thread-sanitizer.md
// says which orders there are.
#ifndef WEIR_DEVICE_WATCH_H
#define WEIR_DEVICE_WATCH_H

#include "device/host.h"
#include "window/trail.h"

// Of a context that ThreadSanitizer watches; else there is none. Guarded by the context's lock, but for what a task that runs
// has.
typedef struct weir__watch {
  weir__watched *tasks; // by slot of the window
  uint32_t size;
  weir__sync *all;  // the end of every task and of every function of the caller's that belongs to one
  weir__sync *last; // the task that was admitted last
  weir__point profile;
} weir__watch;

// NULL: nobody watches, or there is no memory.
weir__watch *weir__watch_create(uint32_t window_size);
void weir__watch_destroy(weir__watch *watch);

static inline weir__watched *weir__watch_task(const weir__host *host, const weir__task *task) {
  return &host->watch->tasks[task->id & host->window.live.mask];
}

// The calling fiber's next steps are the task's, or part of them; what it did was part of the task. Where the task's function is
// called by other means than below.
void weir__watch_begin(const weir__host *host, const weir__task *task);
void weir__watch_end(const weir__host *host, const weir__task *task);

// Calls a function for a task, with a copy of `work`.
void weir__watch_call_slow(const weir__host *host, const weir__task *task, weir_function function,
                           const weir_work *work);

static inline void weir__watch_call(const weir__host *host, const weir__task *task, weir_function function,
                                    const weir_work *work) {
  if (__builtin_expect(host->watch != NULL, false))
    weir__watch_call_slow(host, task, function, work);
  else
    function(work);
}

// The task is done, before anybody is told. `also`: of its group; may be NULL. The lock is held.
void weir__watch_complete(const weir__host *host, weir__task *task, const weir__completion *completion,
                          weir__sync *event, weir__sync *also);

// What was before the end of `from` is before that of `to`.
void weir__watch_pass(weir__sync *from, weir__point *to);

// Calls a function of the caller's that belongs to the end of a task: a callback, in the order in which they were attached, or
// what frees its data, which is part of the task.
typedef struct weir__watch_after {
  weir__sync *task; // NULL: not known
  weir__sync *all, *group;
  weir_event_function callback;
  weir_status status;
  void (*destroy)(void *user); // NULL: the callback
  bool own;                    // the callback is the library's
  void *user;
} weir__watch_after;
void weir__watch_call_after(const weir__watch_after *after);

#endif // WEIR_DEVICE_WATCH_H
