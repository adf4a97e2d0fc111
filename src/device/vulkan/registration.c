// SPDX-License-Identifier: Apache-2.0
//
// Devices of the caller's: registered by name, taken by one context at a time.
#include <sched.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/structs.h"
#include "device/vulkan/share.h"
#include "device/vulkan/vulkan.h"

// A queue that has no memory to say when it is idle is asked again so many times.
enum { MOST_TIMES_ASKED = 1000 };

static void destroy(weir__registered *registered) {
  weir__free(registered);
}

static weir__registry all = {.kind = "vulkan", .exclusive = true, .destroy = destroy};

// ---------------------------------------------------------------------------------------------------------------
// The features that a device was made with

typedef void (*take_feature)(const void *item, weir__vulkan_facts *enabled);

static void take_all(const void *item, weir__vulkan_facts *enabled) {
  enabled->features = ((const VkPhysicalDeviceFeatures2 *)item)->features;
}

static void take_11(const void *item, weir__vulkan_facts *enabled) {
  enabled->features11 = *(const VkPhysicalDeviceVulkan11Features *)item;
}

static void take_12(const void *item, weir__vulkan_facts *enabled) {
  enabled->features12 = *(const VkPhysicalDeviceVulkan12Features *)item;
}

static void take_13(const void *item, weir__vulkan_facts *enabled) {
  enabled->features13 = *(const VkPhysicalDeviceVulkan13Features *)item;
}

static void take_timeline(const void *item, weir__vulkan_facts *enabled) {
  enabled->features12.timelineSemaphore = ((const VkPhysicalDeviceTimelineSemaphoreFeatures *)item)->timelineSemaphore;
}

static void take_16_bit(const void *item, weir__vulkan_facts *enabled) {
  const VkPhysicalDevice16BitStorageFeatures *from = item;
  enabled->features11.storageBuffer16BitAccess = from->storageBuffer16BitAccess;
  enabled->features11.uniformAndStorageBuffer16BitAccess = from->uniformAndStorageBuffer16BitAccess;
  enabled->features11.storagePushConstant16 = from->storagePushConstant16;
}

static void take_8_bit(const void *item, weir__vulkan_facts *enabled) {
  const VkPhysicalDevice8BitStorageFeatures *from = item;
  enabled->features12.storageBuffer8BitAccess = from->storageBuffer8BitAccess;
  enabled->features12.uniformAndStorageBuffer8BitAccess = from->uniformAndStorageBuffer8BitAccess;
  enabled->features12.storagePushConstant8 = from->storagePushConstant8;
}

static void take_small_types(const void *item, weir__vulkan_facts *enabled) {
  const VkPhysicalDeviceShaderFloat16Int8Features *from = item;
  enabled->features12.shaderFloat16 = from->shaderFloat16;
  enabled->features12.shaderInt8 = from->shaderInt8;
}

static void take_int64_atomics(const void *item, weir__vulkan_facts *enabled) {
  const VkPhysicalDeviceShaderAtomicInt64Features *from = item;
  enabled->features12.shaderBufferInt64Atomics = from->shaderBufferInt64Atomics;
  enabled->features12.shaderSharedInt64Atomics = from->shaderSharedInt64Atomics;
}

static void take_variable_pointers(const void *item, weir__vulkan_facts *enabled) {
  const VkPhysicalDeviceVariablePointersFeatures *from = item;
  enabled->features11.variablePointers = from->variablePointers;
  enabled->features11.variablePointersStorageBuffer = from->variablePointersStorageBuffer;
}

static void take_memory_model(const void *item, weir__vulkan_facts *enabled) {
  const VkPhysicalDeviceVulkanMemoryModelFeatures *from = item;
  enabled->features12.vulkanMemoryModel = from->vulkanMemoryModel;
  enabled->features12.vulkanMemoryModelDeviceScope = from->vulkanMemoryModelDeviceScope;
}

static void take_addresses(const void *item, weir__vulkan_facts *enabled) {
  enabled->features12.bufferDeviceAddress =
      ((const VkPhysicalDeviceBufferDeviceAddressFeatures *)item)->bufferDeviceAddress;
}

static void take_clock(const void *item, weir__vulkan_facts *enabled) {
  const VkPhysicalDeviceShaderClockFeaturesKHR *from = item;
  enabled->shader_clock = from->shaderSubgroupClock;
  enabled->shader_device_clock = from->shaderDeviceClock;
}

static void take_float_atomics(const void *item, weir__vulkan_facts *enabled) {
  enabled->float_atomics = ((const VkPhysicalDeviceShaderAtomicFloatFeaturesEXT *)item)->shaderBufferFloat32AtomicAdd;
}

static const struct {
  VkStructureType type;
  take_feature take;
} TAKES[] = {
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, take_all},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, take_11},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, take_12},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, take_13},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, take_timeline},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES, take_16_bit},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES, take_8_bit},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES, take_small_types},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES, take_int64_atomics},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VARIABLE_POINTERS_FEATURES, take_variable_pointers},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES, take_memory_model},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES, take_addresses},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR, take_clock},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT, take_float_atomics},
};

// What the device has, but of features only those that it was made with.
static void find_enabled(const weir__vulkan_facts *facts, const VkDeviceCreateInfo *info, weir__vulkan_facts *enabled) {
  *enabled = *facts;
  enabled->features = info->pEnabledFeatures != NULL ? *info->pEnabledFeatures : (VkPhysicalDeviceFeatures){0};
  enabled->features11 = (VkPhysicalDeviceVulkan11Features){0};
  enabled->features12 = (VkPhysicalDeviceVulkan12Features){0};
  enabled->features13 = (VkPhysicalDeviceVulkan13Features){0};
  enabled->shader_clock = enabled->shader_device_clock = enabled->float_atomics = false;
  for (const VkBaseInStructure *item = info->pNext; item != NULL; item = item->pNext) {
    for (size_t i = 0; i < sizeof TAKES / sizeof TAKES[0]; i++)
      if (TAKES[i].type == item->sType) TAKES[i].take(item, enabled);
  }
  enabled->features11.pNext = enabled->features12.pNext = enabled->features13.pNext = NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Registering

static weir_status invalid(const char *what) {
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "register: %s", what);
}

static bool computes(const weir__vulkan_facts *facts, weir_vulkan_queue queue) {
  return (facts->families[queue.family].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
}

// How many queues of a family the device was made with.
static uint32_t made_queues(const VkDeviceCreateInfo *info, uint32_t family) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < info->queueCreateInfoCount; i++)
    if (info->pQueueCreateInfos[i].queueFamilyIndex == family) count += info->pQueueCreateInfos[i].queueCount;
  return count;
}

static weir_status check_queues(const weir_vulkan_handles *handles, const weir__vulkan_facts *facts) {
  bool any = false;
  const VkDeviceCreateInfo *info = handles->create_info;
  for (uint32_t i = 0; i < handles->queue_count; i++) {
    weir_vulkan_queue queue = handles->queues[i];
    if (queue.family >= facts->family_count || queue.index >= made_queues(info, queue.family))
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                         "register: queue %u of family %u: the device was made with %u of this family", queue.index,
                         queue.family, made_queues(info, queue.family));
    for (uint32_t j = 0; j < i; j++)
      if (handles->queues[j].family == queue.family && handles->queues[j].index == queue.index)
        return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "register: queue %u of family %u is listed twice", queue.index,
                           queue.family);
    any = any || computes(facts, queue);
  }
  return any ? WEIR_OK : invalid("none of the queues computes");
}

static weir_status check_handles(const weir_vulkan_handles *handles, const char *name) {
  if (handles == NULL || name == NULL) return invalid(handles == NULL ? "the handles are NULL" : "out_name is NULL");
  if (handles->get_instance_proc_addr == NULL || handles->instance == NULL || handles->physical_device == NULL ||
      handles->device == NULL || handles->create_info == NULL)
    return invalid("get_instance_proc_addr, a handle or create_info is NULL");
  if (handles->queues == NULL || handles->queue_count == 0) return invalid("there are no queues");
  if (handles->queue_count > WEIR__VULKAN_MOST_QUEUES) return invalid("more than 64 queues");
  return (handles->lock == NULL) == (handles->unlock == NULL) ? WEIR_OK : invalid("only one of lock and unlock is set");
}

static weir_status fill_in(weir__vulkan_registration *registration, const weir_vulkan_handles *handles) {
  char reason[160];
  weir__vulkan_driver *driver = &registration->driver;
  if (!weir__vulkan_driver_open((PFN_vkGetInstanceProcAddr)handles->get_instance_proc_addr, handles->instance, driver,
                                reason, sizeof reason))
    return weir__error(WEIR_ERROR_UNAVAILABLE, "register: %s", reason);
  driver->version = handles->api_version >= VK_API_VERSION_1_3 ? VK_API_VERSION_1_3 : handles->api_version;
  weir__vulkan_facts *facts = weir__allocate(sizeof *facts);
  if (facts == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "register: no memory");
  weir__vulkan_find_facts(driver, handles->physical_device, facts);
  weir_status status = WEIR_OK;
  if (!weir__vulkan_is_usable(facts, reason, sizeof reason))
    status = weir__error(WEIR_ERROR_UNAVAILABLE, "register: %s", reason);
  if (status == WEIR_OK) {
    find_enabled(facts, handles->create_info, &registration->enabled);
    if (!registration->enabled.features12.timelineSemaphore)
      status = weir__error(WEIR_ERROR_UNAVAILABLE, "register: the device was made without timelineSemaphore");
  }
  if (status == WEIR_OK) status = check_queues(handles, facts);
  weir__free(facts);
  if (status != WEIR_OK) return status;
  registration->handles = *handles;
  registration->handles.create_info = NULL; // needed no more
  memcpy(registration->queues, handles->queues, handles->queue_count * sizeof handles->queues[0]);
  registration->handles.queues = registration->queues;
  return WEIR_OK;
}

weir_status weir_vulkan_register_sized(const weir_vulkan_handles *given, size_t handles_size, char *out_name,
                                       uint64_t size) {
  weir_vulkan_handles taken, *handles = given == NULL ? NULL : &taken;
  weir_status status = weir__struct_take(&taken, sizeof taken, given, handles_size, "register");
  if (status == WEIR_OK) status = check_handles(handles, out_name);
  if (status != WEIR_OK) return status;
  if (!weir__registry_has_room(&all, size)) return invalid("no room for the name");
  weir__vulkan_registration *registration = weir__allocate_zeroed(sizeof *registration);
  if (registration == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "register: no memory");
  status = fill_in(registration, handles);
  if (status != WEIR_OK) {
    weir__free(registration);
    return status;
  }
  weir__registry_add(&all, &registration->registered, out_name, size);
  return WEIR_OK;
}

weir_status weir_vulkan_unregister(const char *name) {
  return weir__registry_remove(&all, name);
}

// ---------------------------------------------------------------------------------------------------------------
// What a context makes of it

weir_status weir__vulkan_registration_take(const char *argument, weir__vulkan_registration **out_registration) {
  weir__registered *found;
  weir_status status = weir__registry_take(&all, argument, &found);
  *out_registration = (weir__vulkan_registration *)found;
  return status;
}

void weir__vulkan_registration_give(weir__vulkan_registration *registration) {
  weir__registry_give(&all, &registration->registered);
}

void weir__vulkan_registration_queues(const weir__vulkan_registration *registration, uint32_t kernel_lanes,
                                      uint32_t copy_lanes, weir__vulkan_queue_plan *out_plan) {
  *out_plan = (weir__vulkan_queue_plan){0};
  uint32_t total = 0, *counts[] = {&out_plan->kernel_count, &out_plan->copy_count};
  const uint32_t most[] = {kernel_lanes, copy_lanes};
  for (int copies = 0; copies < 2; copies++) {
    for (uint32_t i = 0; i < registration->handles.queue_count && *counts[copies] < most[copies]; i++) {
      weir_vulkan_queue queue = registration->queues[i];
      if (computes(&registration->enabled, queue) == (copies == 1)) continue;
      out_plan->families[total] = queue.family;
      out_plan->indices[total++] = queue.index;
      ++*counts[copies];
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Queues

static weir_vulkan_queue named(const weir__vulkan_queue *queue) {
  return (weir_vulkan_queue){.family = queue->family, .index = queue->index};
}

void weir__vulkan_queue_acquire(const weir__vulkan_device *device, weir__vulkan_queue *queue) {
  weir__lock_acquire(&queue->lock);
  const weir__vulkan_registration *registration = device->registration;
  if (registration != NULL && registration->handles.lock != NULL)
    registration->handles.lock(registration->handles.user, named(queue));
}

void weir__vulkan_queue_release(const weir__vulkan_device *device, weir__vulkan_queue *queue) {
  const weir__vulkan_registration *registration = device->registration;
  if (registration != NULL && registration->handles.unlock != NULL)
    registration->handles.unlock(registration->handles.user, named(queue));
  weir__lock_release(&queue->lock);
}

void weir__vulkan_wait_idle(weir__vulkan_device *device) {
  for (uint32_t i = 0; i < device->queue_count; i++) {
    weir__vulkan_queue *queue = &device->queues[i];
    VkResult result = VK_NOT_READY;
    weir__vulkan_queue_acquire(device, queue);
    for (int asked = 0; asked < MOST_TIMES_ASKED && result != VK_SUCCESS && result != VK_ERROR_DEVICE_LOST; asked++) {
      if (asked > 0) sched_yield();
      result = device->calls.vkQueueWaitIdle(queue->queue);
    }
    weir__vulkan_queue_release(device, queue);
  }
}
