// SPDX-License-Identifier: Apache-2.0
//
// A VkDevice and a timeline semaphore of the program's own. One task of Weir's waits for a value of the semaphore, and
// others do not. Here the host sets the value; a queue of the program's would do so behind its command buffers.
//
// Exit status: 0 good; 1 something failed; 77 this machine has no Vulkan device that has what it takes.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <vulkan/vulkan.h>

#include <weir/external.h>
#include <weir/vulkan.h>

static void check(weir_status status, const char *what) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "after_vulkan: %s: %s\n", what, weir_last_error());
  exit(status == WEIR_ERROR_UNAVAILABLE ? 77 : 1);
}

static void vk_check(VkResult result, int status, const char *what) {
  if (result == VK_SUCCESS) return;
  fprintf(stderr, "after_vulkan: %s: Vulkan error %d\n", what, (int)result);
  exit(status);
}

// A family of the physical device that computes; none: the program ends.
static uint32_t find_family(VkPhysicalDevice physical) {
  VkQueueFamilyProperties families[16];
  uint32_t count = 16;
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
  for (uint32_t i = 0; i < count; i++) {
    if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) return i;
  }
  exit(77);
}

static void raise_flag(const weir_work *work) {
  atomic_store((atomic_int *)work->user, 1);
}

static weir_event *submit(weir_context *context, atomic_int *flag, weir_event *after) {
  weir_event *event;
  check(weir_submit(context,
                    &(weir_task){.host = raise_flag, .user = flag, .after = &after, .after_count = after != NULL},
                    &event),
        "task");
  return event;
}

int main(void) {
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
  const VkInstanceCreateInfo of_instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                            .pApplicationInfo = &application};
  VkInstance instance;
  VkPhysicalDevice physical;
  uint32_t count = 1;
  vk_check(vkCreateInstance(&of_instance, NULL, &instance), 77, "instance");
  VkResult found = vkEnumeratePhysicalDevices(instance, &count, &physical);
  if (found != VK_INCOMPLETE) vk_check(found, 77, "devices");
  if (count == 0) return 77;

  const float priority = 1;
  const uint32_t family = find_family(physical);
  const VkDeviceQueueCreateInfo of_queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                            .queueFamilyIndex = family,
                                            .queueCount = 1,
                                            .pQueuePriorities = &priority};
  VkPhysicalDeviceVulkan12Features features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                               .timelineSemaphore = VK_TRUE};
  const VkDeviceCreateInfo of_device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                        .pNext = &features,
                                        .queueCreateInfoCount = 1,
                                        .pQueueCreateInfos = &of_queue};
  VkDevice device;
  vk_check(vkCreateDevice(physical, &of_device, NULL, &device), 77, "device");
  const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                          .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkSemaphoreCreateInfo of_semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  VkSemaphore semaphore;
  vk_check(vkCreateSemaphore(device, &of_semaphore, NULL, &semaphore), 1, "semaphore");

  const weir_vulkan_queue queue = {family, 0};
  const weir_vulkan_handles handles = {.get_instance_proc_addr = (weir_vulkan_function)vkGetInstanceProcAddr,
                                       .instance = instance,
                                       .physical_device = physical,
                                       .device = device,
                                       .api_version = VK_API_VERSION_1_2,
                                       .create_info = &of_device,
                                       .queues = &queue,
                                       .queue_count = 1};
  char name[32], devices[64];
  weir_context *context;
  check(weir_vulkan_register(&handles, name, sizeof name), "register");
  snprintf(devices, sizeof devices, "%s,cpu:2", name);
  check(weir_context_create(&(weir_context_options){.devices = devices}, &context), "context");

  weir_event *outside;
  atomic_int waited = 0, other = 0;
  check(weir_vulkan_import_semaphore(weir_context_device(context, 0), (uint64_t)semaphore, 7, &outside), "import");
  weir_event *behind = submit(context, &waited, outside), *beside = submit(context, &other, NULL);
  check(weir_event_wait(beside, WEIR_FOREVER), "the other task");
  bool right = atomic_load(&other) == 1 && atomic_load(&waited) == 0;
  const VkSemaphoreSignalInfo signal = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = 7};
  vk_check(vkSignalSemaphore(device, &signal), 1, "signal");
  check(weir_event_wait(behind, WEIR_FOREVER), "the task");
  right = right && atomic_load(&waited) == 1;
  weir_event_release(outside);
  weir_event_release(behind);
  weir_event_release(beside);
  check(weir_context_release(context), "release");
  check(weir_vulkan_unregister(name), "unregister");
  vkDestroySemaphore(device, semaphore, NULL);
  vkDestroyDevice(device, NULL);
  vkDestroyInstance(instance, NULL);
  printf("%s\n", right ? "right: one task waited, the other one did not" : "wrong");
  return right && fflush(stdout) == 0 ? 0 : 1;
}
