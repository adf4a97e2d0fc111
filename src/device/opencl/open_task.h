// SPDX-License-Identifier: Apache-2.0
//
// Open tasks (device/open.h) on OpenCL devices: command queues that the caller puts work into, one for each task that is
// open at the same time.
//
// DESIGN. Such a queue is one of the device's, behind its own queues and known to its thread since the first open task.
// Before the caller gets it, the device's thread puts a marker there that waits for the events of what the task comes
// after. At the end the caller's thread puts a marker behind its work, whose event becomes that of the task's operation.
#ifndef WEIR_DEVICE_OPENCL_OPEN_TASK_H
#define WEIR_DEVICE_OPENCL_OPEN_TASK_H

#include "device/open.h"
#include "device/opencl/opencl.h"

extern const weir__open_ops weir__opencl_opens;

// weir__in_order_table.enqueue of an open task that has ended: places the operation, which gets its event if the caller
// had the queue. `*out_choice` says what it must wait for if it did not. False: no memory.
bool weir__opencl_place_open(weir__opencl_device *device, weir__opencl_operation *operation, uint32_t count,
                             weir__queue_choice *out_choice);

#endif // WEIR_DEVICE_OPENCL_OPEN_TASK_H
