// SPDX-License-Identifier: Apache-2.0
//
// Devices, memory and order that are shared with other Vulkan code.
#ifndef WEIR_DEVICE_VULKAN_SHARE_H
#define WEIR_DEVICE_VULKAN_SHARE_H

#include "device/registered.h"
#include "device/vulkan/driver.h"
#include "device/vulkan/logical.h"
#include "weir/vulkan.h"
#include "window/task.h"

// Refuses what is no Vulkan device.
weir_status weir__vulkan_check_device(const weir_device *device, const char *what);

// A device of the caller's (registration.c).
typedef struct weir__vulkan_registration {
  weir__registered registered;
  bool in_use; // guarded by the registry's lock
  weir__vulkan_driver driver;
  weir_vulkan_handles handles;
  weir__vulkan_facts enabled; // what the device was made with
  weir_vulkan_queue queues[WEIR__VULKAN_MOST_QUEUES];
} weir__vulkan_registration;

// Takes it for one context. Sets weir_last_error() on failure.
weir_status weir__vulkan_registration_take(const char *argument, weir__vulkan_registration **out_registration);
void weir__vulkan_registration_give(weir__vulkan_registration *registration);

// Its queues, in the order in which Weir uses them.
void weir__vulkan_registration_queues(const weir__vulkan_registration *registration, uint32_t kernel_lanes,
                                      uint32_t copy_lanes, weir__vulkan_queue_plan *out_plan);

// A task that moves no bytes (order.c): weir__move.fence points to one.
typedef struct weir__vulkan_fence {
  struct weir__vulkan_fence *next; // among those whose semaphore has not reached its value
  bool signals;                    // else it waits: its task is not issued before the semaphore has reached the value
  VkSemaphore semaphore;
  uint64_t value;
  weir__task *task;
} weir__vulkan_fence;

// Whether the task signals: it does so even if it was cancelled.
static inline bool weir__vulkan_signals(const weir__task *task) {
  const weir__vulkan_fence *fence = task->move != NULL ? task->move->fence : NULL;
  return fence != NULL && fence->signals;
}

struct weir__vulkan_device;

// Lets tasks go on whose semaphore has reached its value. Returns whether there were any. By the device's thread, like the next.
bool weir__vulkan_serve_fences(struct weir__vulkan_device *device);
// Waits until one of the semaphores may have reached its value, for `ns` at most.
void weir__vulkan_await_fences(struct weir__vulkan_device *device, uint64_t ns);

#endif // WEIR_DEVICE_VULKAN_SHARE_H
