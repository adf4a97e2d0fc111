// SPDX-License-Identifier: Apache-2.0
//
// A meeting: tasks, or parts of one, that wait until a number of them run at the same time. Proves that so many workers
// are in use, without measuring time.
#ifndef WEIR_TESTS_MEETING_H
#define WEIR_TESTS_MEETING_H

#include <stdatomic.h>

#include "weir/weir.h"

typedef struct meeting {
  uint32_t expected;
  atomic_uint arrived;
  atomic_bool given_up; // somebody waited in vain for a long time: nobody waits any more
} meeting;

void meeting_initialize(meeting *self, uint32_t expected);

// Task function: attends the meeting that is its `user`.
void meeting_attend(const weir_work *work);

// Whether everyone came.
bool meeting_held(meeting *self);

// A context with so many CPU workers.
weir_context *open_cpu(uint32_t workers);

// Waits for all tasks, a minute at most, and fails the test if they are not done by then or one failed.
void finish_all(weir_context *context);

// Submits a host task, or fails the test.
void submit_host(weir_context *context, weir_function function, void *user, const weir_arg *args, uint32_t arg_count);

#endif // WEIR_TESTS_MEETING_H
