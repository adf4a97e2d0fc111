// SPDX-License-Identifier: Apache-2.0
//
// A Vulkan device with one queue, for tests of the parts below Weir's own device; and one command buffer.
#ifndef WEIR_TESTS_VULKAN_RIG_H
#define WEIR_TESTS_VULKAN_RIG_H

#include "device/vulkan/driver.h"

typedef struct vulkan_rig {
  const weir__vulkan_driver *driver;
  weir__vulkan_facts facts; // the device is created with all features in them
  uint32_t family;
  VkDevice device;
  weir__vulkan_calls calls;
  VkQueue queue;
  VkCommandPool pool;
  VkCommandBuffer commands;
} vulkan_rig;

// Exits 77 with the reason where there is no Vulkan device.
void rig_skip_without_device(void);

// Fails the test where it cannot be made.
void rig_create(vulkan_rig *rig);
void rig_destroy(vulkan_rig *rig);

// A storage buffer of its own memory that shaders and copies may use.
typedef struct rig_buffer {
  VkBuffer buffer;
  VkDeviceMemory memory;
} rig_buffer;

rig_buffer rig_make_buffer(vulkan_rig *rig, VkDeviceSize bytes);
void rig_free_buffer(vulkan_rig *rig, rig_buffer *buffer);

// Records from the start; ends the recording and submits it; waits for all that was submitted.
void rig_begin(vulkan_rig *rig);
void rig_submit(vulkan_rig *rig);
void rig_wait(vulkan_rig *rig);

#endif // WEIR_TESTS_VULKAN_RIG_H
