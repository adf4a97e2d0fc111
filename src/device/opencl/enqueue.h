// SPDX-License-Identifier: Apache-2.0
//
// Enqueue functions (weir/enqueue.h) on OpenCL devices: calls, and what they get. Lanes are the device's queues.
#ifndef WEIR_DEVICE_OPENCL_ENQUEUE_H
#define WEIR_DEVICE_OPENCL_ENQUEUE_H

#include "device/enqueue.h"
#include "device/opencl/opencl.h"

// weir__device_ops.set_enqueue.
weir_status weir__opencl_set_enqueue(weir_kernel *kernel, const weir_enqueue_code *code);

// Has the function of a call that was begun put its work into a queue, behind what the waits name, of which there are
// none afterwards. `*out_start` (NULL: not wanted) gets a marker before that work, if the device keeps times. Returns
// OK, or the status with which the task fails; then `call->text` says why, and what was put into the queue stays there.
weir_status weir__opencl_call(weir__opencl_device *device, weir__enqueue_call *call, weir__enqueue *enqueue,
                              uint32_t queue, weir__opencl_waits *waits, cl_event *out_start);

// Parts of it, for open tasks (open_task.h). Any thread.
// Names an argument, and holds the object that it is in until it is let go.
cl_int weir__opencl_hold(weir__opencl_device *device, weir_enqueue_arg *arg);
void weir__opencl_let_go(const weir__opencl_device *device, const weir_enqueue_arg *arg);
// Takes references to a queue that functions of the caller's get, once.
cl_int weir__opencl_guard(const weir__opencl_device *device, weir__opencl_queue *queue);
// Whether the caller has released a queue of the device's, since nobody said so before.
bool weir__opencl_is_released(const weir__opencl_device *device, weir__opencl_queue *queue);

#endif // WEIR_DEVICE_OPENCL_ENQUEUE_H
