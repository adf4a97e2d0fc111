// SPDX-License-Identifier: Apache-2.0
//
// Enqueue functions (weir/enqueue.h), as far as they are the same on all devices with queues: what a call gets,
// lanes, and how it went.
//
// A device embeds a weir__enqueue in its code of a kernel, whose head points to it. To run a task it calls
// weir__enqueue_begin, names its own objects in each argument that is no value (`args[i].value` NULL, with the
// address that the task has in `pointer`), sets queue, context and lane, calls weir__enqueue_run with the lane's lock
// held, if several threads may be in one lane, and weir__enqueue_end.
#ifndef WEIR_DEVICE_ENQUEUE_H
#define WEIR_DEVICE_ENQUEUE_H

#include <stdatomic.h>

#include "device/device.h"
#include "device/work.h"
#include "weir/enqueue.h"

struct weir__graph_run;

enum { WEIR__ENQUEUE_MOST_LANES = 256, WEIR__ENQUEUE_FEW_ARGS = 16, WEIR__ENQUEUE_ALIGNMENT = 256 };

// Asked when the work that a task of the kernel put on its queue has ended: OK, or the status with which the task fails
// all the same, and then `*out_message` is why. `user` is the task's. The lock is held.
typedef weir_status (*weir__enqueue_verdict)(void *user, const char **out_message);

// A function as a kernel's code.
typedef struct weir__enqueue {
  weir_enqueue_code code;
  weir__enqueue_verdict verdict; // NULL: what was put on the queue went well
  uint8_t apart; // CUDA: not 0: tasks go to a queue that has no others but those of kernels with the same number
  // Per device of the context a bit for each lane in which `prepare` has been called, and went well.
  _Atomic uint64_t prepared[WEIR__MAX_DEVICES][WEIR__ENQUEUE_MOST_LANES / 64];
  // The same for lanes in which the function has been called outside of a capture.
  _Atomic uint64_t called[WEIR__MAX_DEVICES][WEIR__ENQUEUE_MOST_LANES / 64];
  _Atomic bool refuses_capture; // it failed in one
  _Atomic bool joins;           // a capture of it alone has ended well, with all joined that it had forked
} weir__enqueue;

// Whether the lane is ready for a call that is captured.
static inline bool weir__enqueue_is_prepared(const weir__enqueue *enqueue, const weir_device *device, uint32_t lane) {
  if (enqueue->code.prepare == NULL) return true;
  const _Atomic uint64_t *lanes = &enqueue->prepared[device->index][lane / 64];
  return (atomic_load_explicit(lanes, memory_order_acquire) >> lane % 64 & 1) != 0;
}

// Whether the function has been called in the lane, so that what it sets up at its first call is there.
static inline bool weir__enqueue_was_called(const weir__enqueue *enqueue, const weir_device *device, uint32_t lane) {
  const _Atomic uint64_t *lanes = &enqueue->called[device->index][lane / 64];
  return (atomic_load_explicit(lanes, memory_order_acquire) >> lane % 64 & 1) != 0;
}

// A call, on the caller's stack.
typedef struct weir__enqueue_call {
  weir_enqueue call;
  weir_enqueue_arg *args; // `few`, or allocated; those of the task, then its scratch memory, if the code wants some
  uint32_t arg_count;     // with the scratch memory
  weir_enqueue_arg few[WEIR__ENQUEUE_FEW_ARGS];
  weir__failure failure;
  char text[WEIR__WORK_MESSAGE_BYTES + 96]; // set by weir__enqueue_run: why it failed
} weir__enqueue_call;

// Makes code of `bytes` bytes that begins with its head: a function. All else in it is zero. It frees itself as a
// whole. NULL: no memory, and weir_last_error says so.
weir__code *weir__enqueue_make_code(const weir_kernel *kernel, size_t bytes, const weir_enqueue_code *code);

// weir__device_ops.check of a task whose kernel has this code. PENDING: the code wants scratch memory, and the task
// does not have it yet: who submits it adds an argument (engine/scratch.h).
weir_status weir__enqueue_check(const weir__enqueue *enqueue, const weir_task *task);

// Begins the call for a task in flight whose kernel has this code: arguments, but for what the device calls them,
// user, number. Scratch memory is the last of `args`, though not of `call.args`. False: no memory.
bool weir__enqueue_begin(weir__enqueue_call *call, const weir__enqueue *enqueue, weir_device *device,
                         const weir__task *task);

// The same for a node of a run, whose arguments are bound.
bool weir__enqueue_begin_node(weir__enqueue_call *call, const weir__enqueue *enqueue, weir_device *device,
                              const struct weir__graph_run *run, uint32_t index);

// The same for an open task (device/open.h), in two steps: before it is submitted, and, with it in flight, for what
// is bound then.
bool weir__enqueue_begin_open(weir__enqueue_call *call, weir_device *device, const weir_task *task);
void weir__enqueue_fill(weir__enqueue_call *call, const weir__task *task);

// Calls `prepare` for the call's lane, if there is one that was not called there and went well. As weir__enqueue_run.
weir_status weir__enqueue_prepare(weir__enqueue_call *call, weir__enqueue *enqueue);

// Calls the function in `call->call.lane`, and `prepare` before it if need be and the queue is not being captured.
// All other members of the call are set. Returns OK, or the status with which the task fails; then `text` says why. A
// device that finds that the function misused its queue says so itself.
weir_status weir__enqueue_run(weir__enqueue_call *call, weir__enqueue *enqueue);

void weir__enqueue_end(weir__enqueue_call *call);

#endif // WEIR_DEVICE_ENQUEUE_H
