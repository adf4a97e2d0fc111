// SPDX-License-Identifier: Apache-2.0
//
// Order with other Vulkan code, by timeline semaphores of the caller's. A wait is a fence that stalls until the semaphore has
// reached the value; then it is issued, and its batch waits for the value once more, in the queue, so that what was written
// becomes visible there. The batch of a fence that signals signals the semaphore.
#ifndef WEIR_DEVICE_VULKAN_FENCE_H
#define WEIR_DEVICE_VULKAN_FENCE_H

#include "device/fence.h"
#include "device/vulkan/driver.h"
#include "issue/in_order.h"

struct weir__vulkan_device;

typedef struct weir__vulkan_fence {
  weir__external_fence head;
  VkSemaphore semaphore; // VK_NULL_HANDLE: a marker
  uint64_t value;
  bool submitted; // the signal is part of a submission
} weir__vulkan_fence;

// NULL: no memory. The task's device frees it with weir__free.
weir__vulkan_fence *weir__vulkan_fence_create(bool signals, VkSemaphore semaphore, uint64_t value);

// weir__device_ops.marker.
weir__external_fence *weir__vulkan_marker(weir_device *device);

// weir__in_order_table.fence_is_over: the semaphore has reached the value; on a device that is lost nothing waits.
bool weir__vulkan_fence_is_over(void *device, weir__external_fence *fence);
// weir__in_order_table.fence_destroy: if there was no memory to submit a signal, all before it is done, and the host signals.
void weir__vulkan_fence_destroy(weir__in_order_device *device, weir__external_fence *fence);
// Waits until one of the semaphores may have reached its value, for `ns` at most.
void weir__vulkan_await_fences(struct weir__vulkan_device *device, uint64_t ns);

#endif // WEIR_DEVICE_VULKAN_FENCE_H
