// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/logical.h"

#include <string.h>

static bool is_kind(VkQueueFlags flags, int kind) {
  VkQueueFlags shown = flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT);
  if (kind == 0) return (shown & VK_QUEUE_COMPUTE_BIT) != 0 && (shown & VK_QUEUE_GRAPHICS_BIT) == 0;
  if (kind == 1) return (shown & VK_QUEUE_COMPUTE_BIT) != 0 && (shown & VK_QUEUE_GRAPHICS_BIT) != 0;
  return shown == VK_QUEUE_TRANSFER_BIT;
}

// Adds queues of families of a kind until `wanted` are there. `used`: per family.
static uint32_t add_queues(const weir__vulkan_facts *facts, int kind, uint32_t wanted, uint32_t *used,
                           weir__vulkan_queue_plan *plan, uint32_t at) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < facts->family_count; i++) {
    if (!is_kind(facts->families[i].queueFlags, kind)) continue;
    while (count < wanted && used[i] < facts->families[i].queueCount && at + count < WEIR__VULKAN_MOST_QUEUES) {
      plan->families[at + count] = i;
      plan->indices[at + count] = used[i]++;
      count++;
    }
  }
  return count;
}

void weir__vulkan_plan_queues(const weir__vulkan_facts *facts, uint32_t kernel_lanes, uint32_t copy_lanes,
                              weir__vulkan_queue_plan *out_plan) {
  uint32_t used[WEIR__VULKAN_MOST_FAMILIES] = {0};
  *out_plan = (weir__vulkan_queue_plan){0};
  uint32_t kernels = add_queues(facts, 0, kernel_lanes, used, out_plan, 0);
  kernels += add_queues(facts, 1, kernel_lanes - kernels, used, out_plan, kernels);
  uint32_t copies = add_queues(facts, 2, copy_lanes, used, out_plan, kernels);
  for (int kind = 1; kind >= 0; kind--)
    copies += add_queues(facts, kind, copy_lanes - copies, used, out_plan, kernels + copies);
  out_plan->kernel_count = kernels;
  out_plan->copy_count = copies;
}

// What costs something merely by being enabled, or is of no use to compute shaders, stays off.
static void choose_features(const weir__vulkan_facts *facts, weir__vulkan_facts *enabled) {
  *enabled = *facts;
  enabled->features.robustBufferAccess = VK_FALSE;
  enabled->features12.bufferDeviceAddressCaptureReplay = VK_FALSE;
  enabled->features12.bufferDeviceAddressMultiDevice = VK_FALSE;
  enabled->features13.robustImageAccess = VK_FALSE;
  enabled->features13.privateData = VK_FALSE;
}

VkResult weir__vulkan_create_logical(const weir__vulkan_driver *driver, VkPhysicalDevice physical,
                                     const weir__vulkan_facts *facts, const weir__vulkan_queue_plan *plan,
                                     weir__vulkan_facts *out_enabled, VkDevice *out_device) {
  float priorities[WEIR__VULKAN_MOST_QUEUES];
  VkDeviceQueueCreateInfo queues[WEIR__VULKAN_MOST_FAMILIES];
  uint32_t family_count = 0, total = plan->kernel_count + plan->copy_count;
  for (uint32_t i = 0; i < WEIR__VULKAN_MOST_QUEUES; i++) priorities[i] = 1.0f;
  for (uint32_t family = 0; family < facts->family_count; family++) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < total; i++) count += plan->families[i] == family;
    if (count == 0) continue;
    queues[family_count++] = (VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                                       .queueFamilyIndex = family,
                                                       .queueCount = count,
                                                       .pQueuePriorities = priorities};
  }
  choose_features(facts, out_enabled);
  VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                        .features = out_enabled->features};
  VkPhysicalDeviceVulkan11Features features11 = out_enabled->features11;
  VkPhysicalDeviceVulkan12Features features12 = out_enabled->features12;
  VkPhysicalDeviceVulkan13Features features13 = out_enabled->features13;
  VkPhysicalDeviceShaderClockFeaturesKHR clock = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR,
                                                  .shaderSubgroupClock = facts->shader_clock,
                                                  .shaderDeviceClock = facts->shader_device_clock};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomics = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT,
      .shaderBufferFloat32Atomics = facts->float_atomics,
      .shaderBufferFloat32AtomicAdd = facts->float_atomics};
  const char *extensions[2];
  uint32_t extension_count = 0;
  features.pNext = &features11;
  features11.pNext = &features12;
  void **end = &features12.pNext;
  if (facts->version >= VK_API_VERSION_1_3) {
    *end = &features13;
    end = &features13.pNext;
  }
  if (facts->shader_clock || facts->shader_device_clock) {
    extensions[extension_count++] = VK_KHR_SHADER_CLOCK_EXTENSION_NAME;
    *end = &clock;
    end = &clock.pNext;
  }
  if (facts->float_atomics) {
    extensions[extension_count++] = VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME;
    *end = &atomics;
  }
  const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                   .pNext = &features,
                                   .queueCreateInfoCount = family_count,
                                   .pQueueCreateInfos = queues,
                                   .enabledExtensionCount = extension_count,
                                   .ppEnabledExtensionNames = extensions};
  *out_device = VK_NULL_HANDLE;
  return driver->vkCreateDevice(physical, &info, NULL, out_device);
}
