// SPDX-License-Identifier: Apache-2.0
//
// The Vulkan loader, loaded at run time, and the physical devices that it finds.
#ifndef WEIR_DEVICE_VULKAN_DRIVER_H
#define WEIR_DEVICE_VULKAN_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "device/vulkan/api.h"
#include "device/vulkan/symbols.h"
#include "weir/weir.h"

enum { WEIR__VULKAN_MOST_FAMILIES = 16 };

// Functions of the loader and of an instance.
typedef struct weir__vulkan_driver {
  PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr;
#define WEIR__VULKAN_MEMBER(name, need) PFN_##name name;
  WEIR__VULKAN_INSTANCE_SYMBOLS(WEIR__VULKAN_MEMBER)
#undef WEIR__VULKAN_MEMBER
  VkInstance instance;
  uint32_t version; // of Vulkan that the instance was made for; a caller's instance counts as 1.2
  uint32_t device_count;
  VkPhysicalDevice *devices; // all of the loader's, in its order; none of a caller's instance
} weir__vulkan_driver;

// Functions of a logical device.
typedef struct weir__vulkan_calls {
#define WEIR__VULKAN_MEMBER(name, need) PFN_##name name;
  WEIR__VULKAN_DEVICE_SYMBOLS(WEIR__VULKAN_MEMBER)
#undef WEIR__VULKAN_MEMBER
} weir__vulkan_calls;

// What a physical device offers, as far as Weir cares.
typedef struct weir__vulkan_facts {
  uint32_t version; // of Vulkan that may be used: the device's, at most the instance's
  VkPhysicalDeviceProperties properties;
  VkPhysicalDeviceDriverProperties driver; // empty before Vulkan 1.2
  VkPhysicalDeviceMemoryProperties memory;
  VkPhysicalDeviceFeatures features;
  VkPhysicalDeviceVulkan11Features features11; // sType is set, and pNext NULL, in all of them
  VkPhysicalDeviceVulkan12Features features12;
  VkPhysicalDeviceVulkan13Features features13; // all false before Vulkan 1.3
  VkPhysicalDeviceSubgroupProperties subgroup;
  VkQueueFamilyProperties families[WEIR__VULKAN_MOST_FAMILIES];
  uint32_t family_count;
  bool shader_clock, shader_device_clock; // VK_KHR_shader_clock
  bool float_atomics;                     // VK_EXT_shader_atomic_float: adding 32-bit floats in storage buffers
} weir__vulkan_facts;

// The loader: libvulkan.so.1, or the file that the environment variable WEIR_VULKAN_LOADER names. It is loaded, and an
// instance made, by the first call that succeeds; both stay. NULL: there is none or it has no device that Weir can use (Vulkan
// 1.2 with timeline semaphores, or later), and `reason` says so; a later call tries again. Any thread. With the environment
// variable WEIR_VULKAN_VALIDATION the instance is made with the validation layer (validation.h).
const weir__vulkan_driver *weir__vulkan_driver_load(char *reason, size_t size);

// Resolves an instance's functions for a caller's VkInstance. False: `reason` names the missing one.
bool weir__vulkan_driver_open(PFN_vkGetInstanceProcAddr get, VkInstance instance, weir__vulkan_driver *out_driver,
                              char *reason, size_t size);

// Resolves a logical device's functions. False: `reason` names the missing one.
bool weir__vulkan_calls_open(const weir__vulkan_driver *driver, VkDevice device, weir__vulkan_calls *out_calls,
                             char *reason, size_t size);

void weir__vulkan_find_facts(const weir__vulkan_driver *driver, VkPhysicalDevice device, weir__vulkan_facts *out_facts);

// Whether Weir can use the device; if not, `reason` says what it lacks.
bool weir__vulkan_is_usable(const weir__vulkan_facts *facts, char *reason, size_t size);

// "VK_ERROR_DEVICE_LOST".
const char *weir__vulkan_result_name(VkResult result);

// The status of a result: OUT_OF_MEMORY, DEVICE_LOST, UNAVAILABLE for what the machine lacks, TIMEOUT, PENDING for NOT_READY;
// else TASK_FAILED.
weir_status weir__vulkan_status(VkResult result);

// Vulkan does not say what a failed call leaves in place of an object. `handle` (which is not a VkDevice) becomes
// VK_NULL_HANDLE then. Returns the call's result.
static inline VkResult weir__vulkan_made(VkResult result, void *handle) {
  if (result != VK_SUCCESS) memset(handle, 0, sizeof(VkSemaphore));
  return result;
}

// Sets weir_last_error() to what was tried, followed by the result's name, and returns the result's status. WEIR_OK, and no
// text, for VK_SUCCESS.
__attribute__((format(printf, 2, 3))) weir_status weir__vulkan_error(VkResult result, const char *format, ...);

// Whether the machine has a Vulkan device that Weir can use, and one line for people: the devices with their drivers and how
// many queues of which families, or what is missing.
bool weir__vulkan_probe(char *text, size_t size);

#endif // WEIR_DEVICE_VULKAN_DRIVER_H
