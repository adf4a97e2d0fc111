// SPDX-License-Identifier: Apache-2.0
//
// What a physical device offers.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "device/vulkan/driver.h"

static bool has_extension(const VkExtensionProperties *extensions, uint32_t count, const char *name) {
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(extensions[i].extensionName, name) == 0) return true;
  return false;
}

static void find_properties(const weir__vulkan_driver *driver, VkPhysicalDevice device, weir__vulkan_facts *facts) {
  VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  driver->vkGetPhysicalDeviceProperties2(device, &properties);
  facts->properties = properties.properties;
  facts->version = facts->properties.apiVersion < driver->version ? facts->properties.apiVersion : driver->version;
  if (facts->version < VK_API_VERSION_1_2) return;
  facts->driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
  facts->subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
  facts->subgroup.pNext = &facts->driver;
  properties.pNext = &facts->subgroup;
  driver->vkGetPhysicalDeviceProperties2(device, &properties);
  facts->subgroup.pNext = NULL;
}

static void find_features(const weir__vulkan_driver *driver, VkPhysicalDevice device, weir__vulkan_facts *facts) {
  facts->features11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  facts->features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  facts->features13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  if (facts->version >= VK_API_VERSION_1_2) {
    features.pNext = &facts->features11;
    facts->features11.pNext = &facts->features12;
  }
  if (facts->version >= VK_API_VERSION_1_3) facts->features12.pNext = &facts->features13;
  driver->vkGetPhysicalDeviceFeatures2(device, &features);
  facts->features = features.features;
  facts->features11.pNext = facts->features12.pNext = NULL;
}

// Features of extensions that Weir lets shaders use.
static void find_extensions(const weir__vulkan_driver *driver, VkPhysicalDevice device, weir__vulkan_facts *facts) {
  uint32_t count = 0;
  if (driver->vkEnumerateDeviceExtensionProperties(device, NULL, &count, NULL) != VK_SUCCESS || count == 0) return;
  VkExtensionProperties *extensions = weir__allocate(count * sizeof *extensions);
  if (extensions == NULL) return;
  VkPhysicalDeviceShaderClockFeaturesKHR clock = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomics = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT};
  VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  if (driver->vkEnumerateDeviceExtensionProperties(device, NULL, &count, extensions) == VK_SUCCESS) {
    if (has_extension(extensions, count, VK_KHR_SHADER_CLOCK_EXTENSION_NAME)) features.pNext = &clock;
    if (has_extension(extensions, count, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME)) {
      atomics.pNext = features.pNext;
      features.pNext = &atomics;
    }
  }
  weir__free(extensions);
  if (features.pNext == NULL) return;
  driver->vkGetPhysicalDeviceFeatures2(device, &features);
  facts->shader_clock = clock.shaderSubgroupClock;
  facts->shader_device_clock = clock.shaderDeviceClock;
  facts->float_atomics = atomics.shaderBufferFloat32AtomicAdd;
}

void weir__vulkan_find_facts(const weir__vulkan_driver *driver, VkPhysicalDevice device,
                             weir__vulkan_facts *out_facts) {
  memset(out_facts, 0, sizeof *out_facts);
  find_properties(driver, device, out_facts);
  find_features(driver, device, out_facts);
  driver->vkGetPhysicalDeviceMemoryProperties(device, &out_facts->memory);
  out_facts->family_count = WEIR__VULKAN_MOST_FAMILIES;
  driver->vkGetPhysicalDeviceQueueFamilyProperties(device, &out_facts->family_count, out_facts->families);
  if (out_facts->version >= VK_API_VERSION_1_2) find_extensions(driver, device, out_facts);
}

static bool has_compute_queue(const weir__vulkan_facts *facts) {
  for (uint32_t i = 0; i < facts->family_count; i++)
    if ((facts->families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0 && facts->families[i].queueCount > 0) return true;
  return false;
}

bool weir__vulkan_is_usable(const weir__vulkan_facts *facts, char *reason, size_t size) {
  const char *name = facts->properties.deviceName;
  if (facts->version < VK_API_VERSION_1_2)
    snprintf(reason, size, "%s has Vulkan %u.%u; Weir needs 1.2", name,
             VK_API_VERSION_MAJOR(facts->properties.apiVersion), VK_API_VERSION_MINOR(facts->properties.apiVersion));
  else if (!facts->features12.timelineSemaphore)
    snprintf(reason, size, "%s has no timeline semaphores", name);
  else if (!has_compute_queue(facts))
    snprintf(reason, size, "%s has no queue for compute shaders", name);
  else
    return true;
  return false;
}
