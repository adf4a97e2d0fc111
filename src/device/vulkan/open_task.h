// SPDX-License-Identifier: Apache-2.0
//
// Open tasks (device/open.h) on Vulkan devices: command buffers that the caller records, one for each task that is open
// at the same time.
//
// DESIGN. Such a command buffer is submitted behind a batch of the device's, like the recording of a graph, when the task
// is issued: at its end. So the lane's barriers and semaphores order it, and nothing waits while it is recorded. What
// was recorded before the task was abandoned is not submitted, since it may be anything. Tasks with the same slot are in
// one lane, and those that follow each other there come one after another.
#ifndef WEIR_DEVICE_VULKAN_OPEN_TASK_H
#define WEIR_DEVICE_VULKAN_OPEN_TASK_H

#include "device/open.h"
#include "device/vulkan/vulkan.h"

// The device's part of an open task. It is kept for the next one once the task is done.
typedef struct weir__vulkan_opened {
  weir__open_slot slot;             // the first member
  struct weir__vulkan_opened *next; // of those that are free
  VkCommandPool pool;
  VkCommandBuffer commands;
  VkQueryPool queries; // two timestamps, for timelines; else VK_NULL_HANDLE
  uint32_t lane;       // of the device
} weir__vulkan_opened;

extern const weir__open_ops weir__vulkan_opens;

// Destroys what is free: all of it, once no task is in flight.
void weir__vulkan_opens_destroy(weir__vulkan_device *device);

static inline const weir__vulkan_opened *weir__vulkan_opened_of(const weir__task *task) {
  const weir__open *open = weir__task_open(task);
  return open != NULL ? open->native : NULL;
}

#endif // WEIR_DEVICE_VULKAN_OPEN_TASK_H
