// SPDX-License-Identifier: Apache-2.0
//
// Devices, memory and order that are shared with other Vulkan code.
#ifndef WEIR_DEVICE_VULKAN_SHARE_H
#define WEIR_DEVICE_VULKAN_SHARE_H

#include "device/registered.h"
#include "device/vulkan/driver.h"
#include "device/vulkan/logical.h"
#include "weir/vulkan.h"

// Refuses what is no Vulkan device.
weir_status weir__vulkan_check_device(const weir_device *device, const char *what);

// A device of the caller's (registration.c).
typedef struct weir__vulkan_registration {
  weir__registered registered;
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

struct weir__vulkan_device;

// Mapped memory of the host, and freeing it.
weir_status weir__vulkan_host_allocate(weir_device *base, uint64_t bytes, void **out_memory);
void weir__vulkan_host_free(weir_device *base, void *address);

// Takes a VkBuffer of the caller's for a buffer on a part of it. `*out_memory` is where the part is for Weir.
weir_status weir__vulkan_wrap(struct weir__vulkan_device *device, uint64_t vk_buffer, uint64_t offset, uint64_t bytes,
                              void **out_memory);

#endif // WEIR_DEVICE_VULKAN_SHARE_H
