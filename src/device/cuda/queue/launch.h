// SPDX-License-Identifier: Apache-2.0
//
// Single launches: each returns the result of the driver's call. The device's context is current.
#ifndef WEIR_DEVICE_CUDA_QUEUE_LAUNCH_H
#define WEIR_DEVICE_CUDA_QUEUE_LAUNCH_H

#include "device/cuda/cuda_device.h"

CUresult weir__cuda_launch_one(weir__cuda_device *device, const weir__cuda_launch *launch, const uint32_t groups[3],
                               void **parameters, CUstream stream);

// All launches of the task's kernel.
CUresult weir__cuda_launch_task(weir__cuda_device *device, const weir__task *task, CUstream stream);

#endif // WEIR_DEVICE_CUDA_QUEUE_LAUNCH_H
