// SPDX-License-Identifier: Apache-2.0
//
// Open tasks: a task between weir_task_begin and weir_task_end (weir/enqueue.h), as its device sees it. The caller
// puts the task's work on a queue of the device's that is the caller's meanwhile. The task enters the window at the
// beginning, and is issued at the end; its device finds the work done, or on its way.
#ifndef WEIR_DEVICE_OPEN_H
#define WEIR_DEVICE_OPEN_H

#include "device/enqueue.h"

typedef struct weir__open {
  weir__enqueue_call call; // what the caller sees
  weir_device *device;
  void *native;       // the device's own part; NULL: it has none
  bool begun;         // the caller got the queue, so that there may be work on it; false: the task is skipped, or fails
  weir_status status; // not OK: the task fails with it, and `text`
  char text[WEIR__WORK_MESSAGE_BYTES + 96];
} weir__open;

// Of a device on which tasks can be open. No lock is held, and the functions may block, unless they say otherwise.
typedef struct weir__open_ops weir__open_ops;
struct weir__open_ops {
  // Gives the caller a queue: sets `native`, and queue, native_context, lane and lane_count of the call. Waits while
  // all are taken.
  weir_status (*begin)(weir_device *device, weir__open *open);

  // Lets the queue wait for tasks of the device, which were issued to it, and names the device's objects in the
  // call's arguments.
  weir_status (*order)(weir_device *device, weir__open *open, const weir__id *tasks, uint32_t count);

  // All work is on the queue: what it has now is the task's. If something is wrong with the queue, sets status and
  // text. The task is issued next. Does not block.
  void (*end)(weir_device *device, weir__open *open);

  // The task cannot be issued, for want of memory: waits until its work is over. By the device's thread. NULL: there is
  // no work before the task is issued.
  void (*await)(weir_device *device, weir__open *open);

  // The task was issued, and the queue may be another caller's. The lock is held.
  void (*issued)(weir_device *device, weir__open *open);

  // Gives back `native`: of a task that is done, with the lock held; or of one that was never submitted.
  void (*destroy)(weir_device *device, weir__open *open);
};

// Something went wrong with the work, or the queue: the task fails with this, and for this reason.
void weir__open_accuse(weir__open *open, weir_status status, const char *text);

// The open task behind a task; NULL: it is another kind of task.
static inline weir__open *weir__task_open(const weir__task *task) {
  return task->kind == WEIR__TASK_OPEN ? task->user : NULL;
}

#endif // WEIR_DEVICE_OPEN_H
