// SPDX-License-Identifier: Apache-2.0
//
// What the machine's Vulkan devices are, for people and for programs.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/structs.h"
#include "device/vulkan/driver.h"
#include "weir/vulkan.h"

static const char *type_name(VkPhysicalDeviceType type) {
  switch (type) {
  case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
    return "discrete";
  case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
    return "integrated";
  case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
    return "virtual";
  case VK_PHYSICAL_DEVICE_TYPE_CPU:
    return "cpu";
  default:
    return "other";
  }
}

static void describe_families(const weir__vulkan_facts *facts, weir_vulkan_description *out) {
  out->family_count = facts->family_count;
  for (uint32_t i = 0; i < facts->family_count; i++) {
    const VkQueueFamilyProperties *family = &facts->families[i];
    bool graphics = (family->queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
    bool compute = (family->queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
    out->families[i] = (weir_vulkan_family){
        .graphics = graphics,
        .compute = compute,
        .transfer = graphics || compute || (family->queueFlags & VK_QUEUE_TRANSFER_BIT) != 0, // implied by the others
        .sparse = (family->queueFlags & VK_QUEUE_SPARSE_BINDING_BIT) != 0,
        .queues = family->queueCount,
        .timestamp_bits = family->timestampValidBits};
  }
}

static void describe(const weir__vulkan_facts *facts, weir_vulkan_description *out) {
  memset(out, 0, sizeof *out);
  snprintf(out->name, sizeof out->name, "%s", facts->properties.deviceName);
  snprintf(out->driver, sizeof out->driver, "%s%s%s", facts->driver.driverName,
           facts->driver.driverInfo[0] != 0 ? " " : "", facts->driver.driverInfo);
  out->type = type_name(facts->properties.deviceType);
  const VkPhysicalDeviceLimits *limits = &facts->properties.limits;
  out->group_threads = limits->maxComputeWorkGroupInvocations;
  memcpy(out->groups, limits->maxComputeWorkGroupCount, sizeof out->groups);
  out->shared_bytes = limits->maxComputeSharedMemorySize;
  out->push_bytes = limits->maxPushConstantsSize;
  out->storage_alignment = (uint32_t)limits->minStorageBufferOffsetAlignment;
  out->usable = weir__vulkan_is_usable(facts, out->reason, sizeof out->reason);
  out->version[0] = VK_API_VERSION_MAJOR(facts->properties.apiVersion);
  out->version[1] = VK_API_VERSION_MINOR(facts->properties.apiVersion);
  out->version[2] = VK_API_VERSION_PATCH(facts->properties.apiVersion);
  for (uint32_t i = 0; i < facts->memory.memoryHeapCount; i++) {
    const VkMemoryHeap *heap = &facts->memory.memoryHeaps[i];
    if ((heap->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
      out->device_bytes += heap->size;
    else
      out->host_bytes += heap->size;
  }
  describe_families(facts, out);
}

weir_status weir_vulkan_device_count(uint32_t *out_count) {
  char reason[512];
  if (out_count == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "Vulkan devices: the result is NULL");
  *out_count = 0;
  const weir__vulkan_driver *driver = weir__vulkan_driver_load(reason, sizeof reason);
  if (driver == NULL) return weir__error(WEIR_ERROR_UNAVAILABLE, "Vulkan devices: %s", reason);
  *out_count = driver->device_count;
  return WEIR_OK;
}

weir_status weir_vulkan_device_describe_sized(uint32_t index, weir_vulkan_description *out_description,
                                              size_t description_size) {
  char reason[512];
  if (out_description == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "Vulkan device %u: the result is NULL", index);
  weir_vulkan_description description = {0};
  weir__struct_give(out_description, description_size, &description, sizeof description);
  const weir__vulkan_driver *driver = weir__vulkan_driver_load(reason, sizeof reason);
  if (driver == NULL) return weir__error(WEIR_ERROR_UNAVAILABLE, "Vulkan device %u: %s", index, reason);
  if (index >= driver->device_count)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "Vulkan device %u: there are %u", index, driver->device_count);
  weir__vulkan_facts *facts = weir__allocate(sizeof *facts);
  if (facts == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "Vulkan device %u: no memory to describe it", index);
  weir__vulkan_find_facts(driver, driver->devices[index], facts);
  describe(facts, &description);
  weir__struct_give(out_description, description_size, &description, sizeof description);
  weir__free(facts);
  return WEIR_OK;
}

// "16 graphics+compute+transfer".
static size_t family_text(const weir_vulkan_family *family, char *text, size_t size) {
  const char *const names[] = {"graphics", "compute", "transfer"};
  const bool has[] = {family->graphics, family->compute, family->transfer};
  size_t used = (size_t)snprintf(text, size, "%u", family->queues);
  bool first = true;
  for (int i = 0; i < 3 && used < size; i++) {
    if (!has[i]) continue;
    used += (size_t)snprintf(text + used, size - used, "%s%s", first ? " " : "+", names[i]);
    first = false;
  }
  if (first && used < size) used += (size_t)snprintf(text + used, size - used, " other");
  return used;
}

// "NAME (Vulkan 1.3, DRIVER; queues: 16 graphics+compute+transfer, 8 compute+transfer)".
static void device_text(const weir_vulkan_description *device, char *text, size_t size) {
  if (!device->usable) {
    snprintf(text, size, "%s", device->reason);
    return;
  }
  size_t used = (size_t)snprintf(text, size, "%s (Vulkan %u.%u, %s; queues: ", device->name, device->version[0],
                                 device->version[1], device->driver);
  for (uint32_t i = 0; i < device->family_count && used < size; i++) {
    if (i > 0) used += (size_t)snprintf(text + used, size - used, ", ");
    if (used < size) used += family_text(&device->families[i], text + used, size - used);
  }
  if (used < size) snprintf(text + used, size - used, ")");
}

bool weir__vulkan_probe(char *text, size_t size) {
  const weir__vulkan_driver *driver = weir__vulkan_driver_load(text, size);
  if (driver == NULL) return false;
  size_t used = 0;
  text[0] = 0;
  for (uint32_t first = 0, next; first < driver->device_count && used < size; first = next) {
    weir_vulkan_description device, other;
    char count[16] = "", one[sizeof device];
    if (weir_vulkan_device_describe(first, &device) != WEIR_OK) break;
    for (next = first + 1; next < driver->device_count; next++)
      if (weir_vulkan_device_describe(next, &other) != WEIR_OK || memcmp(&device, &other, sizeof device) != 0) break;
    if (next - first > 1) snprintf(count, sizeof count, "%u x ", next - first);
    device_text(&device, one, sizeof one);
    used += (size_t)snprintf(text + used, size - used, "%s%s%s", first > 0 ? ", " : "", count, one);
  }
  return true;
}
