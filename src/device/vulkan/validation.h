// SPDX-License-Identifier: Apache-2.0
//
// The Khronos validation layer, for tests: where the environment variable WEIR_VULKAN_VALIDATION is set (and not "0"), Weir's
// instance is made with the layer, with synchronization validation inside command buffers and across submissions. Every
// warning and error goes to stderr and is counted, and a process in which there was one exits with
// WEIR__VULKAN_VALIDATION_EXIT, whatever it wanted to exit with; but for advice on faster layouts of images, as Weir's stay in one,
// and the one message in which the layer reports that its own books were late. What the layer cannot see are accesses of the host.
#ifndef WEIR_DEVICE_VULKAN_VALIDATION_H
#define WEIR_DEVICE_VULKAN_VALIDATION_H

#include "device/vulkan/driver.h"

enum { WEIR__VULKAN_VALIDATION_EXIT = 86 };

// What an instance is created with. It points into itself: not to be moved.
typedef struct weir__vulkan_validation {
  VkValidationFeatureEnableEXT enable;
  VkValidationFeaturesEXT features;
  VkDebugUtilsMessengerCreateInfoEXT messenger;
  const char *layers[1], *extensions[2];
} weir__vulkan_validation;

bool weir__vulkan_validation_wanted(void);

// Adds the layer, its extensions and its settings to what an instance is created with. False: `reason` says what is missing.
bool weir__vulkan_validation_add(PFN_vkGetInstanceProcAddr get, weir__vulkan_validation *validation,
                                 VkInstanceCreateInfo *create, char *reason, size_t size);

// Makes an instance that was created so report its messages, until it is destroyed.
VkResult weir__vulkan_validation_start(PFN_vkGetInstanceProcAddr get, VkInstance instance,
                                       const weir__vulkan_validation *validation);

// Warnings and errors so far. Any thread.
uint64_t weir__vulkan_validation_messages(void);

#endif // WEIR_DEVICE_VULKAN_VALIDATION_H
