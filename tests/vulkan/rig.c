// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

void rig_skip_without_device(void) {
  char text[512];
  if (weir__vulkan_probe(text, sizeof text)) return;
  printf("skipped: %s\n", text);
  exit(77);
}

static uint32_t compute_family(const weir__vulkan_facts *facts) {
  for (uint32_t i = 0; i < facts->family_count; i++)
    if ((facts->families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) return i;
  fail_msg("no family computes");
  return 0;
}

static void create_device(vulkan_rig *rig) {
  const float priority = 1;
  VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                   .queueFamilyIndex = rig->family,
                                   .queueCount = 1,
                                   .pQueuePriorities = &priority};
  VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                        .features = rig->facts.features};
  features.features.robustBufferAccess = VK_FALSE;
  VkPhysicalDeviceVulkan11Features features11 = rig->facts.features11;
  VkPhysicalDeviceVulkan12Features features12 = rig->facts.features12;
  VkPhysicalDeviceVulkan13Features features13 = rig->facts.features13;
  features.pNext = &features11;
  features11.pNext = &features12;
  if (rig->facts.version >= VK_API_VERSION_1_3) features12.pNext = &features13;
  const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                   .pNext = &features,
                                   .queueCreateInfoCount = 1,
                                   .pQueueCreateInfos = &queue};
  VkPhysicalDevice physical = rig->driver->devices[0];
  assert_int_equal(rig->driver->vkCreateDevice(physical, &info, NULL, &rig->device), VK_SUCCESS);
}

void rig_create(vulkan_rig *rig) {
  char reason[512];
  memset(rig, 0, sizeof *rig);
  rig->driver = weir__vulkan_driver_load(reason, sizeof reason);
  if (rig->driver == NULL) fail_msg("%s", reason);
  weir__vulkan_find_facts(rig->driver, rig->driver->devices[0], &rig->facts);
  rig->family = compute_family(&rig->facts);
  create_device(rig);
  if (!weir__vulkan_calls_open(rig->driver, rig->device, &rig->calls, reason, sizeof reason)) fail_msg("%s", reason);
  rig->calls.vkGetDeviceQueue(rig->device, rig->family, 0, &rig->queue);
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .queueFamilyIndex = rig->family};
  assert_int_equal(rig->calls.vkCreateCommandPool(rig->device, &pool, NULL, &rig->pool), VK_SUCCESS);
}

void rig_destroy(vulkan_rig *rig) {
  rig->calls.vkDestroyCommandPool(rig->device, rig->pool, NULL);
  rig->calls.vkDestroyDevice(rig->device, NULL);
}

// Memory that the host reaches.
static bool serves(const vulkan_rig *rig, const VkMemoryRequirements *needs, uint32_t type) {
  const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  assert_true(type < rig->facts.memory.memoryTypeCount);
  return (needs->memoryTypeBits >> type & 1) != 0 &&
         (rig->facts.memory.memoryTypes[type].propertyFlags & wanted) == wanted;
}

rig_buffer rig_make_buffer(vulkan_rig *rig, VkDeviceSize bytes) {
  rig_buffer made;
  const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                   .size = bytes,
                                   .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                            VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  VkMemoryRequirements needs;
  assert_int_equal(rig->calls.vkCreateBuffer(rig->device, &info, NULL, &made.buffer), VK_SUCCESS);
  rig->calls.vkGetBufferMemoryRequirements(rig->device, made.buffer, &needs);
  VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
  while (!serves(rig, &needs, memory.memoryTypeIndex)) memory.memoryTypeIndex++;
  assert_int_equal(rig->calls.vkAllocateMemory(rig->device, &memory, NULL, &made.memory), VK_SUCCESS);
  assert_int_equal(rig->calls.vkBindBufferMemory(rig->device, made.buffer, made.memory, 0), VK_SUCCESS);
  return made;
}

void rig_free_buffer(vulkan_rig *rig, rig_buffer *buffer) {
  rig->calls.vkDestroyBuffer(rig->device, buffer->buffer, NULL);
  rig->calls.vkFreeMemory(rig->device, buffer->memory, NULL);
}

void rig_begin(vulkan_rig *rig) {
  const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                .commandPool = rig->pool,
                                                .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                .commandBufferCount = 1};
  const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  assert_int_equal(rig->calls.vkAllocateCommandBuffers(rig->device, &allocate, &rig->commands), VK_SUCCESS);
  assert_int_equal(rig->calls.vkBeginCommandBuffer(rig->commands, &begin), VK_SUCCESS);
}

void rig_submit(vulkan_rig *rig) {
  assert_int_equal(rig->calls.vkEndCommandBuffer(rig->commands), VK_SUCCESS);
  const VkSubmitInfo submit = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &rig->commands};
  assert_int_equal(rig->calls.vkQueueSubmit(rig->queue, 1, &submit, VK_NULL_HANDLE), VK_SUCCESS);
}

void rig_wait(vulkan_rig *rig) {
  assert_int_equal(rig->calls.vkQueueWaitIdle(rig->queue), VK_SUCCESS);
}
