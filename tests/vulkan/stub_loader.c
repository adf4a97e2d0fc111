// SPDX-License-Identifier: Apache-2.0
//
// A Vulkan loader with one device, which can only be asked for what it is. The environment variable WEIR_STUB_VULKAN says what is
// wrong: "1.1" (the loader's version), "function" (one is missing), "instance" (there is none to be had), "driver" (none is
// installed), "list" (devices cannot be listed), "none" (there are no devices), "old", "timeline", "compute" (what the device
// lacks).
#define VK_NO_PROTOTYPES
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan_core.h>

#define EXPORT __attribute__((visibility("default")))

static int instances;
EXPORT int stub_instances(void);
EXPORT PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char *name);

int stub_instances(void) {
  return instances;
}

static bool is_wrong(const char *what) {
  const char *wrong = getenv("WEIR_STUB_VULKAN");
  return wrong != NULL && strcmp(wrong, what) == 0;
}

static VkResult enumerate_version(uint32_t *version) {
  *version = is_wrong("1.1") ? VK_API_VERSION_1_1 : VK_API_VERSION_1_2;
  return VK_SUCCESS;
}

static VkResult create_instance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *allocator,
                                VkInstance *instance) {
  (void)allocator;
  if (info->pApplicationInfo->apiVersion != VK_API_VERSION_1_2 || is_wrong("instance"))
    return VK_ERROR_INITIALIZATION_FAILED;
  if (is_wrong("driver")) return VK_ERROR_INCOMPATIBLE_DRIVER;
  *instance = (VkInstance)(void *)&instances;
  instances++;
  return VK_SUCCESS;
}

static void destroy_instance(VkInstance instance, const VkAllocationCallbacks *allocator) {
  (void)instance;
  (void)allocator;
  instances--;
}

static VkResult enumerate_devices(VkInstance instance, uint32_t *count, VkPhysicalDevice *devices) {
  if (is_wrong("list")) return VK_ERROR_OUT_OF_HOST_MEMORY;
  *count = is_wrong("none") ? 0 : 1;
  if (devices != NULL) devices[0] = (VkPhysicalDevice)(void *)instance;
  return VK_SUCCESS;
}

static void get_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *properties) {
  (void)device;
  memset(&properties->properties, 0, sizeof properties->properties);
  strcpy(properties->properties.deviceName, "stub");
  properties->properties.apiVersion = is_wrong("old") ? VK_API_VERSION_1_1 : VK_API_VERSION_1_3;
}

static void get_features(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *features) {
  (void)device;
  for (VkBaseOutStructure *at = (VkBaseOutStructure *)(void *)features; at != NULL; at = at->pNext)
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)
      ((VkPhysicalDeviceVulkan12Features *)(void *)at)->timelineSemaphore = !is_wrong("timeline");
}

static void get_memory(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties *memory) {
  (void)device;
  memset(memory, 0, sizeof *memory);
}

static void get_families(VkPhysicalDevice device, uint32_t *count, VkQueueFamilyProperties *families) {
  (void)device;
  *count = 1;
  families[0] = (VkQueueFamilyProperties){
      .queueFlags = is_wrong("compute") ? VK_QUEUE_TRANSFER_BIT : VK_QUEUE_COMPUTE_BIT, .queueCount = 3};
}

static VkResult enumerate_extensions(VkPhysicalDevice device, const char *layer, uint32_t *count,
                                     VkExtensionProperties *extensions) {
  (void)device;
  (void)layer;
  (void)extensions;
  *count = 0;
  return VK_SUCCESS;
}

static void never_called(void) {
  abort();
}

PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char *name) {
  static const struct {
    const char *name;
    PFN_vkVoidFunction function;
  } FUNCTIONS[] = {
      {"vkEnumerateInstanceVersion", (PFN_vkVoidFunction)enumerate_version},
      {"vkCreateInstance", (PFN_vkVoidFunction)create_instance},
      {"vkDestroyInstance", (PFN_vkVoidFunction)destroy_instance},
      {"vkEnumeratePhysicalDevices", (PFN_vkVoidFunction)enumerate_devices},
      {"vkGetPhysicalDeviceProperties2", (PFN_vkVoidFunction)get_properties},
      {"vkGetPhysicalDeviceFeatures2", (PFN_vkVoidFunction)get_features},
      {"vkGetPhysicalDeviceMemoryProperties", (PFN_vkVoidFunction)get_memory},
      {"vkGetPhysicalDeviceQueueFamilyProperties", (PFN_vkVoidFunction)get_families},
      {"vkEnumerateDeviceExtensionProperties", (PFN_vkVoidFunction)enumerate_extensions},
  };
  (void)instance;
  if (is_wrong("function") && strcmp(name, "vkCreateDevice") == 0) return NULL;
  for (size_t i = 0; i < sizeof FUNCTIONS / sizeof FUNCTIONS[0]; i++)
    if (strcmp(FUNCTIONS[i].name, name) == 0) return FUNCTIONS[i].function;
  return (PFN_vkVoidFunction)never_called;
}
