// SPDX-License-Identifier: Apache-2.0
//
// What a thread is to Weir.
#ifndef WEIR_BASE_THREAD_H
#define WEIR_BASE_THREAD_H

#include <stdbool.h>

struct weir__trace_origin;
struct weir__task;
struct weir_open_task;

typedef struct weir__thread {
  bool in_task;                  // it runs a task or a callback for Weir, and must not wait for tasks
  bool shares;                   // ThreadSanitizer knows of its thread-locals (base/tsan.h)
  const struct weir__task *task; // the last one whose function it called
  struct weir_event *event;      // whose callback or destroy function it calls; NULL: none, a task's function
  struct weir_open_task *open;   // that it has begun and not ended, which counts as being in a task; NULL: none
  const struct weir__trace_origin *origin; // the call of a pipeline's stage that it is in; NULL: none, or not traced
} weir__thread;

// Each submission reads it: where the system keeps room for the few bytes of libraries that are loaded later, it is at a fixed
// distance from the thread's own address, and reading it calls nothing.
#if defined(__GLIBC__)
#define WEIR__NEAR __attribute__((tls_model("initial-exec")))
#else
#define WEIR__NEAR
#endif

// Where a thread is that must not wait: for messages.
const char *weir__thread_place(void);

extern _Thread_local weir__thread weir__this_thread WEIR__NEAR;

#endif // WEIR_BASE_THREAD_H
