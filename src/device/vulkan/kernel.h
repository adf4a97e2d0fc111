// SPDX-License-Identifier: Apache-2.0
//
// Code of kernels for Vulkan devices: pipelines that are ready to be dispatched.
#ifndef WEIR_DEVICE_VULKAN_KERNEL_H
#define WEIR_DEVICE_VULKAN_KERNEL_H

#include "device/enqueue.h"
#include "device/host.h"
#include "device/vulkan/pipeline.h"

typedef struct weir__vulkan_launch {
  const weir__vulkan_pipeline *pipelines[WEIR__MAX_DEVICES]; // by index of the device in the context; NULL: none there
  uint32_t groups[3];                                        // all 0: the task's
  void *value;                                               // not NULL: the push constants; owned
  uint32_t value_bytes;
} weir__vulkan_launch;

typedef struct weir__vulkan_kernel {
  weir__code head;
  uint32_t count; // 0: the kernel has code everywhere and dispatches nothing, unless it is an enqueue function
  weir__vulkan_launch launches[];
} weir__vulkan_kernel;

// NULL: the kernel has none. Pipelines stay until their device is destroyed.
static inline weir__vulkan_kernel *weir__vulkan_code_of(const weir_kernel *kernel) {
  return (weir__vulkan_kernel *)(void *)kernel->code[WEIR__CODE_VULKAN];
}

// Whether all launches have a pipeline on the device.
bool weir__vulkan_kernel_has_code(const weir__vulkan_kernel *vulkan, uint32_t device);

// Checks a task against what the device can dispatch: the number of buffers and bytes of values that the shader declares,
// work-groups, alignment and size of ranges, modes that the shader refutes (device/use.h). The text names the task, the argument
// and the buffer.
weir_status weir__vulkan_kernel_check(const weir_device *device, const weir_task *task);

// weir__device_ops.use: by all dispatches together.
uint8_t weir__vulkan_kernel_use(const weir_device *device, const weir_task *task, uint32_t index);

#endif // WEIR_DEVICE_VULKAN_KERNEL_H
