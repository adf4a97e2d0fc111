// SPDX-License-Identifier: Apache-2.0
//
// What a thread is to Weir.
#ifndef WEIR_BASE_THREAD_H
#define WEIR_BASE_THREAD_H

#include <stdbool.h>

// True in a thread that runs a task or a callback for Weir: it must not wait for tasks.
extern _Thread_local bool weir__in_task;

#endif // WEIR_BASE_THREAD_H
