// SPDX-License-Identifier: Apache-2.0
#include "vulkan.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vulkan_objects.h"

vulkan_card card;
vulkan_calls vk;

enum { NO_DEVICE = 3 }; // exit code

static _Noreturn void none(const char *reason) {
  fprintf(stderr, "weir-gpu-vulkan: no Vulkan device to measure: %s\n", reason);
  exit(NO_DEVICE);
}

void vulkan_check(VkResult result, const char *what) {
  if (result >= 0) return;
  fprintf(stderr, "weir-gpu-vulkan: VkResult %d from %s\n", (int)result, what);
  exit(1);
}

static void load(void) {
  void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) none(dlerror());
  *(void **)&vk.GetInstanceProcAddr = dlsym(library, "vkGetInstanceProcAddr");
  if (!vk.GetInstanceProcAddr) none("libvulkan.so.1 has no vkGetInstanceProcAddr");
}

static void resolve_failed(const char *name) {
  static char text[96];
  snprintf(text, sizeof text, "there is no vk%s", name);
  none(text);
}

static void create_instance(void) {
  PFN_vkCreateInstance create = (PFN_vkCreateInstance)vk.GetInstanceProcAddr(NULL, "vkCreateInstance");
  if (!create) none("there is no vkCreateInstance");
  VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .pApplicationName = "weir-gpu-vulkan",
                                   .apiVersion = VK_API_VERSION_1_2};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  if (create(&info, NULL, &card.instance) != VK_SUCCESS) none("no instance can be made");
#define VULKAN_RESOLVE(name)                                                                                           \
  vk.name = (PFN_vk##name)vk.GetInstanceProcAddr(card.instance, "vk" #name);                                           \
  if (!vk.name) resolve_failed(#name);
  VULKAN_INSTANCE_CALLS(VULKAN_RESOLVE)
#undef VULKAN_RESOLVE
}

static void choose_physical(int number) {
  VkPhysicalDevice devices[16];
  uint32_t count = 16;
  if (vk.EnumeratePhysicalDevices(card.instance, &count, devices) < 0 || count == 0) none("the loader finds no device");
  if (number >= (int)count) none("there are fewer devices than that");
  if (number < 0) {
    number = 0;
    for (uint32_t i = count; i-- > 0;) {
      VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
      vk.GetPhysicalDeviceProperties2(devices[i], &properties);
      if (properties.properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU) number = (int)i;
    }
  }
  card.physical = devices[number];
}

static bool has_extension(const VkExtensionProperties *extensions, uint32_t count, const char *name) {
  for (uint32_t i = 0; i < count; i++) {
    if (strcmp(extensions[i].extensionName, name) == 0) return true;
  }
  return false;
}

// The families that compute or copy, and what to create of their queues.
static void find_families(void) {
  VkQueueFamilyProperties all[16];
  uint32_t count = 16;
  vk.GetPhysicalDeviceQueueFamilyProperties(card.physical, &count, all);
  const VkQueueFlags known =
      VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT;
  for (uint32_t i = 0; i < count && card.family_count < VULKAN_MOST_FAMILIES; i++) {
    bool computes = all[i].queueFlags & VK_QUEUE_COMPUTE_BIT;
    if (!computes && (all[i].queueFlags & ~known || !(all[i].queueFlags & VK_QUEUE_TRANSFER_BIT))) continue;
    vulkan_family *family = &card.families[card.family_count++];
    *family = (vulkan_family){.index = i, .flags = all[i].queueFlags};
    family->queue_count = all[i].queueCount < VULKAN_MOST_QUEUES ? all[i].queueCount : VULKAN_MOST_QUEUES;
    const char *kind = all[i].queueFlags & VK_QUEUE_GRAPHICS_BIT ? "graphics" : computes ? "compute" : "transfer";
    snprintf(family->name, sizeof family->name, "%s (%u)", kind, i);
    bool better = computes && (!card.compute || (card.compute->flags & VK_QUEUE_GRAPHICS_BIT &&
                                                 !(all[i].queueFlags & VK_QUEUE_GRAPHICS_BIT)));
    if (better) card.compute = family;
  }
  if (!card.compute) none("no queue family computes");
}

static void create_device(void) {
  VkExtensionProperties extensions[512];
  uint32_t count = 512;
  vulkan_check(vk.EnumerateDeviceExtensionProperties(card.physical, NULL, &count, extensions), "extensions");
  VkPhysicalDeviceShaderClockFeaturesKHR clock = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR};
  VkPhysicalDeviceVulkan12Features features12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                 .pNext = &clock};
  VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &features12};
  const char *names[] = {VK_KHR_SHADER_CLOCK_EXTENSION_NAME};
  if (!has_extension(extensions, count, VK_KHR_SHADER_CLOCK_EXTENSION_NAME)) none("it lacks VK_KHR_shader_clock");
  vk.GetPhysicalDeviceFeatures2(card.physical, &features);
  if (!features12.timelineSemaphore) none("it lacks timeline semaphores");
  if (!features12.bufferDeviceAddress) none("it lacks buffer device addresses");
  if (!clock.shaderDeviceClock || !clock.shaderSubgroupClock) none("its shaders cannot read both clocks");
  VkPhysicalDeviceVulkan12Features wanted = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                             .pNext = &clock,
                                             .timelineSemaphore = true,
                                             .bufferDeviceAddress = true};
  VkDeviceQueueCreateInfo queues[VULKAN_MOST_FAMILIES];
  float priorities[VULKAN_MOST_QUEUES];
  for (uint32_t i = 0; i < VULKAN_MOST_QUEUES; i++) priorities[i] = 1;
  for (uint32_t f = 0; f < card.family_count; f++)
    queues[f] = (VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                          .queueFamilyIndex = card.families[f].index,
                                          .queueCount = card.families[f].queue_count,
                                          .pQueuePriorities = priorities};
  VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                             .pNext = &wanted,
                             .queueCreateInfoCount = card.family_count,
                             .pQueueCreateInfos = queues,
                             .enabledExtensionCount = 1,
                             .ppEnabledExtensionNames = names};
  vulkan_check(vk.CreateDevice(card.physical, &info, NULL, &card.device), "vkCreateDevice");
#define VULKAN_RESOLVE(name)                                                                                           \
  vk.name = (PFN_vk##name)vk.GetDeviceProcAddr(card.device, "vk" #name);                                               \
  if (!vk.name) resolve_failed(#name);
  VULKAN_DEVICE_CALLS(VULKAN_RESOLVE)
#undef VULKAN_RESOLVE
  for (uint32_t f = 0; f < card.family_count; f++) {
    for (uint32_t q = 0; q < card.families[f].queue_count; q++)
      vk.GetDeviceQueue(card.device, card.families[f].index, q, &card.families[f].queues[q]);
  }
}

static void find_properties(void) {
  VkExtensionProperties extensions[512];
  uint32_t count = 512;
  vulkan_check(vk.EnumerateDeviceExtensionProperties(card.physical, NULL, &count, extensions), "extensions");
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV sms = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
  VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};
  if (has_extension(extensions, count, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) driver.pNext = &sms;
  vk.GetPhysicalDeviceProperties2(card.physical, &properties);
  if (properties.properties.apiVersion < VK_API_VERSION_1_2) none("it is older than Vulkan 1.2");
  card.properties = properties.properties;
  card.sms = sms.shaderSMCount;
  snprintf(card.driver, sizeof card.driver, "%s %s", driver.driverName, driver.driverInfo);
  vk.GetPhysicalDeviceMemoryProperties(card.physical, &card.memory);
}

void vulkan_open(int number) {
  load();
  create_instance();
  choose_physical(number);
  find_properties();
  find_families();
  create_device();
  vulkan_objects_open();
}

void vulkan_close(void) {
  VULKAN(DeviceWaitIdle(card.device));
  vulkan_objects_close();
  vk.DestroyDevice(card.device, NULL); // the instance stays: without it the loader unloads code that has exit handlers
}
