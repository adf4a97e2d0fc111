// SPDX-License-Identifier: Apache-2.0
//
// A VkDevice of the program's own, with one queue, and buffers on it.
#ifndef WEIR_EXAMPLES_VULKAN_DEVICE_H
#define WEIR_EXAMPLES_VULKAN_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

typedef struct vulkan_device {
  VkInstance instance;
  VkPhysicalDevice physical;
  VkDevice device;
  uint32_t family;
  VkQueue queue;
  VkCommandPool pool;
  VkFence fence;
} vulkan_device;

typedef struct vulkan_buffer {
  VkBuffer buffer;
  VkDeviceMemory memory;
} vulkan_buffer;

// False: the machine has no Vulkan 1.2, or no device with a queue that computes.
bool vulkan_device_open(vulkan_device *device);
void vulkan_device_close(vulkan_device *device);

// Registers it with Weir. `name` is for weir_context_options.devices. Ends the program on failure.
void vulkan_device_register(const vulkan_device *device, char *name, uint64_t size);

// A storage buffer that may be copied from and to. Ends the program on failure.
vulkan_buffer vulkan_buffer_create(const vulkan_device *device, uint64_t bytes);
void vulkan_buffer_destroy(const vulkan_device *device, vulkan_buffer *buffer);

#endif // WEIR_EXAMPLES_VULKAN_DEVICE_H
