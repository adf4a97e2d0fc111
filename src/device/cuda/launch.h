// SPDX-License-Identifier: Apache-2.0
//
// Single launches: each returns the result of the driver's call. The device's context is current.
#ifndef WEIR_DEVICE_CUDA_LAUNCH_H
#define WEIR_DEVICE_CUDA_LAUNCH_H

#include "device/cuda/cuda.h"
#include "device/fence.h"

CUresult weir__cuda_launch_one(weir__cuda_device *device, const weir__cuda_launch *launch, const uint32_t groups[3],
                               void **parameters, CUstream stream);

// All launches of the task's kernel.
CUresult weir__cuda_launch_task(weir__cuda_device *device, const weir__task *task, CUstream stream);

// The stream waits for the end of what was in a stream of the caller's.
CUresult weir__cuda_launch_fence(weir__cuda_device *device, const weir__external_fence *fence, CUstream stream);

// A copy or a fill.
CUresult weir__cuda_launch_move(weir__cuda_device *device, const weir__move *move, CUstream stream);

#endif // WEIR_DEVICE_CUDA_LAUNCH_H
