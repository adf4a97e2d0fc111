// SPDX-License-Identifier: Apache-2.0
//
// Logical devices: which queues Weir asks for, and what it enables.
#ifndef WEIR_DEVICE_VULKAN_LOGICAL_H
#define WEIR_DEVICE_VULKAN_LOGICAL_H

#include "device/vulkan/driver.h"

enum { WEIR__VULKAN_MOST_QUEUES = 64 };

// Queues in the order in which Weir uses them.
typedef struct weir__vulkan_queue_plan {
  uint32_t kernel_count, copy_count; // first the queues for kernels, then those for copies
  uint32_t families[WEIR__VULKAN_MOST_QUEUES];
  uint32_t indices[WEIR__VULKAN_MOST_QUEUES]; // in their family
} weir__vulkan_queue_plan;

// Chooses queues for up to `kernel_lanes` lanes of kernels and `copy_lanes` of copies. Families that only compute come before
// those that draw as well, whose queues often take turns; copies go to queues that do nothing else, or else to queues that
// are left over.
void weir__vulkan_plan_queues(const weir__vulkan_facts *facts, uint32_t kernel_lanes, uint32_t copy_lanes,
                              weir__vulkan_queue_plan *out_plan);

// Makes a device with these queues and all features that shaders may want; `out_enabled` says which.
VkResult weir__vulkan_create_logical(const weir__vulkan_driver *driver, VkPhysicalDevice physical,
                                     const weir__vulkan_facts *facts, const weir__vulkan_queue_plan *plan,
                                     weir__vulkan_facts *out_enabled, VkDevice *out_device);

#endif // WEIR_DEVICE_VULKAN_LOGICAL_H
