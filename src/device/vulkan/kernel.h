// SPDX-License-Identifier: Apache-2.0
//
// Code of kernels for Vulkan devices: pipelines that are ready to be dispatched.
#ifndef WEIR_DEVICE_VULKAN_KERNEL_H
#define WEIR_DEVICE_VULKAN_KERNEL_H

#include "api/context.h"
#include "device/vulkan/pipeline.h"

typedef struct weir__vulkan_launch {
  const weir__vulkan_pipeline *pipelines[WEIR__MAX_DEVICES]; // by index of the device in the context; NULL: none there
  uint32_t groups[3];                                        // all 0: the task's
  void *value;                                               // not NULL: the push constants; owned
  uint32_t value_bytes;
} weir__vulkan_launch;

typedef struct weir__vulkan_kernel {
  uint32_t count; // 0: the kernel has code everywhere and dispatches nothing
  weir__vulkan_launch launches[];
} weir__vulkan_kernel;

// Frees kernel->vulkan; NULL is allowed. Pipelines stay until their device is destroyed.
void weir__vulkan_kernel_free(weir__vulkan_kernel *vulkan);

// Whether all launches have a pipeline on the device.
bool weir__vulkan_kernel_has_code(const weir__vulkan_kernel *vulkan, uint32_t device);

// Checks a task against what the device can dispatch: the number of buffers and bytes of values that the shader declares,
// work-groups, alignment and size of ranges, a buffer that the shader writes and the task only reads. The text names the task,
// the argument and the buffer.
weir_status weir__vulkan_kernel_check(const weir_device *device, const weir_task *task);

#endif // WEIR_DEVICE_VULKAN_KERNEL_H
