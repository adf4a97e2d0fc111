// SPDX-License-Identifier: Apache-2.0
//
// The way of an open task (device/open.h) into the window and out of it.
//
// It enters with what is known of its accesses, so that the order of tasks is that of the beginnings, and stays
// there: when its last blocker is gone, the thread that begins it is woken instead of its device. At the end it is
// issued like any other.
//
// A thread has one open task at most, and must not wait for others meanwhile: it counts as being in a task. So a
// thread that waits in a beginning holds up nobody, and there is no circle.
#ifndef WEIR_ENGINE_OPEN_H
#define WEIR_ENGINE_OPEN_H

#include "device/open.h"
#include "engine/context.h"

struct weir_open_task {
  weir__open device; // what the device sees; the first member
  weir_context *context;
  weir__task *task;
  weir_event *event;    // the caller's reference
  weir__waiter ready;   // reached when the task waits for nothing but its end
  uint64_t next_buffer; // as many buffers were made before it began
  weir_open_task *next; // of the context's open tasks
  weir__access *made;   // accesses to buffers that were made since
  uint32_t made_count;
};

static inline weir_open_task *weir__open_of(const weir__task *task) {
  return task->kind == WEIR__TASK_OPEN ? task->user : NULL;
}

// Begins a task, which has neither kernel nor function, and names a device that has open tasks. Waits until all that
// it comes after is issued there. Takes the lock.
weir_status weir__open_begin(weir_context *context, const weir_task *task, weir_open_task **out_open);

// Ends it, by the thread that began it: with accesses to buffers that were made since, or, if `status` is not OK, as
// one that failed, for the reason that `text` gives. `out_event` may be NULL. On failure nothing has changed. Takes
// the lock.
weir_status weir__open_end(weir_open_task *open, const weir_arg *args, uint32_t arg_count, weir_status status,
                           const char *text, weir_event **out_event);

// Describes an open task of the context, if there is one, for messages. The lock is held.
bool weir__open_describe(const weir_context *context, char text[WEIR__MESSAGE_BYTES]);

#endif // WEIR_ENGINE_OPEN_H
