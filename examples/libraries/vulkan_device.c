// SPDX-License-Identifier: Apache-2.0
#include "vulkan_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <weir/vulkan.h>

enum { MOST = 16 };

static const float PRIORITY = 1;

// What the caller creates the device with: queues and features.
typedef struct creation {
  VkDeviceQueueCreateInfo queue;
  VkPhysicalDeviceVulkan12Features features;
  VkDeviceCreateInfo info;
} creation;

static void describe(const vulkan_device *device, creation *out_creation) {
  out_creation->queue = (VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                                  .queueFamilyIndex = device->family,
                                                  .queueCount = 1,
                                                  .pQueuePriorities = &PRIORITY};
  out_creation->features = (VkPhysicalDeviceVulkan12Features){
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .timelineSemaphore = VK_TRUE};
  out_creation->info = (VkDeviceCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                            .pNext = &out_creation->features,
                                            .queueCreateInfoCount = 1,
                                            .pQueueCreateInfos = &out_creation->queue};
}

static bool find_family(vulkan_device *device) {
  VkQueueFamilyProperties families[MOST];
  uint32_t count = MOST;
  vkGetPhysicalDeviceQueueFamilyProperties(device->physical, &count, families);
  for (uint32_t i = 0; i < count; i++) {
    device->family = i;
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) return true;
  }
  return false;
}

bool vulkan_device_open(vulkan_device *device) {
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
  const VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                         .pApplicationInfo = &application};
  *device = (vulkan_device){0};
  creation made;
  uint32_t count = 1;
  bool good = vkCreateInstance(&instance, NULL, &device->instance) == VK_SUCCESS &&
              vkEnumeratePhysicalDevices(device->instance, &count, &device->physical) >= VK_SUCCESS && count > 0 &&
              find_family(device);
  describe(device, &made);
  good = good && vkCreateDevice(device->physical, &made.info, NULL, &device->device) == VK_SUCCESS;
  if (good) {
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = device->family};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    vkGetDeviceQueue(device->device, device->family, 0, &device->queue);
    good = vkCreateCommandPool(device->device, &pool, NULL, &device->pool) == VK_SUCCESS &&
           vkCreateFence(device->device, &fence, NULL, &device->fence) == VK_SUCCESS;
  }
  if (!good) vulkan_device_close(device);
  return good;
}

void vulkan_device_close(vulkan_device *device) {
  if (device->fence != VK_NULL_HANDLE) vkDestroyFence(device->device, device->fence, NULL);
  if (device->pool != VK_NULL_HANDLE) vkDestroyCommandPool(device->device, device->pool, NULL);
  if (device->device != VK_NULL_HANDLE) vkDestroyDevice(device->device, NULL);
  if (device->instance != VK_NULL_HANDLE) vkDestroyInstance(device->instance, NULL);
}

void vulkan_device_register(const vulkan_device *device, char *name, uint64_t size) {
  creation made;
  describe(device, &made);
  const weir_vulkan_queue queue = {device->family, 0};
  const weir_vulkan_handles handles = {.get_instance_proc_addr = (weir_vulkan_function)vkGetInstanceProcAddr,
                                       .instance = device->instance,
                                       .physical_device = device->physical,
                                       .device = device->device,
                                       .api_version = VK_API_VERSION_1_2,
                                       .create_info = &made.info,
                                       .queues = &queue,
                                       .queue_count = 1};
  if (weir_vulkan_register(&handles, name, size) == WEIR_OK) return;
  fprintf(stderr, "%s\n", weir_last_error());
  exit(1);
}

static uint32_t memory_type(const vulkan_device *device, uint32_t types) {
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(device->physical, &memory);
  for (uint32_t i = 0; i < memory.memoryTypeCount; i++) {
    bool own = (memory.memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0;
    if (own && (types >> i & 1) != 0) return i;
  }
  return 0;
}

vulkan_buffer vulkan_buffer_create(const vulkan_device *device, uint64_t bytes) {
  vulkan_buffer made = {0};
  const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                   .size = bytes,
                                   .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                            VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  VkMemoryRequirements needs = {0};
  bool good = vkCreateBuffer(device->device, &info, NULL, &made.buffer) == VK_SUCCESS;
  if (good) vkGetBufferMemoryRequirements(device->device, made.buffer, &needs);
  const VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .allocationSize = needs.size,
                                       .memoryTypeIndex = memory_type(device, needs.memoryTypeBits)};
  good = good && vkAllocateMemory(device->device, &memory, NULL, &made.memory) == VK_SUCCESS &&
         vkBindBufferMemory(device->device, made.buffer, made.memory, 0) == VK_SUCCESS;
  if (good) return made;
  fprintf(stderr, "no memory for a buffer of %llu bytes\n", (unsigned long long)bytes);
  exit(1);
}

void vulkan_buffer_destroy(const vulkan_device *device, vulkan_buffer *buffer) {
  vkDestroyBuffer(device->device, buffer->buffer, NULL);
  vkFreeMemory(device->device, buffer->memory, NULL);
}
