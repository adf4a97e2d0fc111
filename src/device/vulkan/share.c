// SPDX-License-Identifier: Apache-2.0
//
// Memory that is shared with other Vulkan code.
#include "device/vulkan/share.h"
#include "base/error.h"
#include "device/host.h"
#include "device/vulkan/vulkan.h"

weir_status weir__vulkan_check_device(const weir_device *device, const char *what) {
  if (device == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the device is NULL", what);
  if (!weir__is_vulkan(device))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %s is no Vulkan device", what, device->name);
  return WEIR_OK;
}

weir_status weir__vulkan_host_allocate(weir_device *base, uint64_t bytes, void **out_memory) {
  const weir__vulkan_chunk *chunk = weir__vulkan_chunk_create(&weir__vulkan_of(base)->memory, bytes, true);
  if (chunk == NULL)
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "host allocate: no %llu bytes that %s reaches",
                       (unsigned long long)bytes, base->name);
  *out_memory = chunk->mapped;
  return WEIR_OK;
}

void weir__vulkan_host_free(weir_device *base, void *address) {
  weir__vulkan_memory *memory = &weir__vulkan_of(base)->memory;
  weir__vulkan_chunk *chunk = weir__vulkan_chunk_find(memory, address);
  if (chunk != NULL && chunk->mapped == address) weir__vulkan_chunk_destroy(memory, chunk);
}

// The chunk of a caller's VkBuffer, entered if it is new.
static weir__vulkan_chunk *import(weir__vulkan_device *device, VkBuffer buffer) {
  weir__vulkan_chunk *chunk = weir__vulkan_chunk_of(&device->memory, buffer);
  if (chunk != NULL) return chunk;
  VkMemoryRequirements needs;
  device->calls.vkGetBufferMemoryRequirements(device->device, buffer, &needs);
  return weir__vulkan_chunk_import(&device->memory, buffer, needs.size);
}

weir_status weir__vulkan_wrap(weir__vulkan_device *device, uint64_t vk_buffer, uint64_t offset, uint64_t bytes,
                              void **out_memory) {
  uint64_t alignment = device->facts.properties.limits.minStorageBufferOffsetAlignment;
  *out_memory = NULL;
  if (vk_buffer == 0) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "buffer wrap: the VkBuffer is VK_NULL_HANDLE");
  if (offset % alignment != 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "buffer wrap: byte %llu is no multiple of %llu, as %s wants",
                       (unsigned long long)offset, (unsigned long long)alignment, device->base.device.name);
  weir__host_lock(device->base.device.host);
  const weir__vulkan_chunk *chunk = import(device, (VkBuffer)vk_buffer);
  weir__host_unlock(device->base.device.host);
  if (chunk == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "buffer wrap: no memory");
  if (offset >= chunk->bytes || bytes > chunk->bytes - offset)
    return weir__error(WEIR_ERROR_OUT_OF_RANGE,
                       "buffer wrap: %llu bytes from byte %llu on leave the VkBuffer, which has %llu",
                       (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)chunk->bytes);
  *out_memory = (void *)(chunk->address + offset);
  return WEIR_OK;
}

weir_status weir_vulkan_forget_buffer(weir_device *base, uint64_t vk_buffer) {
  weir_status status = weir__vulkan_check_device(base, "forget buffer");
  if (status != WEIR_OK) return status;
  weir__vulkan_memory *memory = &weir__vulkan_of(base)->memory;
  weir__host_lock(base->host);
  weir__vulkan_chunk *chunk = vk_buffer == 0 ? NULL : weir__vulkan_chunk_of(memory, (VkBuffer)vk_buffer);
  if (chunk != NULL) weir__vulkan_chunk_destroy(memory, chunk);
  weir__host_unlock(base->host);
  if (chunk != NULL) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "forget buffer: VkBuffer 0x%llx was not wrapped",
                     (unsigned long long)vk_buffer);
}
