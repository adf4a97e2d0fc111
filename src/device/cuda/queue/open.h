// SPDX-License-Identifier: Apache-2.0
//
// Open tasks (device/open.h): streams that the caller puts work into, one for each task that is open at the same time.
//
// DESIGN. Such a stream is a queue of the device's, behind its own queues and known to its thread since the first
// open task. The caller's stream waits, by events, for what the task comes after, before the caller gets it; at the
// end the caller's thread records an event there, which becomes that of the task's op. So the op costs the card
// nothing: the device's thread appends it to the queue's list, in the order of the ends, and others wait for its
// event as for any other.
#ifndef WEIR_DEVICE_CUDA_QUEUE_OPEN_H
#define WEIR_DEVICE_CUDA_QUEUE_OPEN_H

#include "device/cuda/cuda_device.h"
#include "device/open.h"

extern const weir__open_ops weir__cuda_opens;

// weir__in_order_table.enqueue of an open task that has ended.
bool weir__cuda_enqueue_open(weir__cuda_device *device, weir__operation *operation, uint32_t count);

// weir__in_order_table.report: lane and times of the timeline.
void weir__cuda_report_open(weir__cuda_device *device, weir__cuda_op *op, weir__completion *completion);

// Destroys the streams. The device's context is current.
void weir__cuda_opens_destroy(weir__cuda_device *device);

#endif // WEIR_DEVICE_CUDA_QUEUE_OPEN_H
