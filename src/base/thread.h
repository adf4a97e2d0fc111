// SPDX-License-Identifier: Apache-2.0
//
// What a thread is to Weir.
#ifndef WEIR_BASE_THREAD_H
#define WEIR_BASE_THREAD_H

#include <stdbool.h>

struct weir__trace_origin;

typedef struct weir__thread {
  bool in_task;                            // it runs a task or a callback for Weir, and must not wait for tasks
  const struct weir__trace_origin *origin; // the call of a pipeline's stage that it is in; NULL: none, or not traced
} weir__thread;

extern _Thread_local weir__thread weir__this_thread;

#endif // WEIR_BASE_THREAD_H
