// SPDX-License-Identifier: Apache-2.0
//
// Functions of modules, made ready to be launched: their blocks, shared memory and parameters.
#ifndef WEIR_DEVICE_CUDA_FUNCTION_H
#define WEIR_DEVICE_CUDA_FUNCTION_H

#include "device/cuda/cuda_device.h"
#include "device/cuda/kernel.h"

// A function on a device, with what messages need.
typedef struct weir__cuda_function {
  weir__cuda_device *device;
  const char *kernel, *name;
  CUfunction function;
} weir__cuda_function;

// Makes a function ready to be launched with the launch's block, shared memory and value, of `value_bytes`, and notes it in the launch.
// The device's context is current. `entry`: what its PTX says; NULL: it is not known. INVALID_ARGUMENT where the device or the function
// does not allow that.
weir_status weir__cuda_function_prepare(const weir__cuda_function *target, const weir__ptx_entry *entry,
                                        uint32_t value_bytes, weir__cuda_launch *launch);

#endif // WEIR_DEVICE_CUDA_FUNCTION_H
