// SPDX-License-Identifier: Apache-2.0
//
// Which queue a kernel goes to where launchers make the calls: the one in which it starts first, by guesses of what calls and kernels
// take. There are four queues for kernels, or as many as the device has, which launchers share.
#ifndef WEIR_DEVICE_CUDA_QUEUE_SCHEDULE_H
#define WEIR_DEVICE_CUDA_QUEUE_SCHEDULE_H

#include "device/cuda/cuda_device.h"

// Chooses the queue of a kernel's op, which comes after the first `count` of the device's places, and notes when it is likely to be
// launched and done. By the device's thread, which has launchers.
uint32_t weir__cuda_schedule(weir__cuda_device *device, weir__cuda_op *op, const weir__task *task, uint32_t count);

#endif // WEIR_DEVICE_CUDA_QUEUE_SCHEDULE_H
