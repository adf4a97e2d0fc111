// SPDX-License-Identifier: Apache-2.0
//
// Memory and order that are shared with other Vulkan code.
#include "weir/vulkan.h"

#include <stdio.h>

#include "base/allocate.h"
#include "base/error.h"
#include "device/vulkan/vulkan.h"
#include "engine/buffer.h"
#include "engine/external.h"
#include "engine/fence.h"

static weir_status check(const weir_device *device, uint64_t semaphore, const char *what) {
  weir_status status = weir__vulkan_check_device(device, what);
  if (status == WEIR_OK && semaphore == 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the VkSemaphore is VK_NULL_HANDLE", what);
  return status;
}

static weir_status submit(weir_device *device, bool signals, uint64_t semaphore, uint64_t value, weir_event *event) {
  weir__vulkan_fence *fence = weir__vulkan_fence_create(signals, (VkSemaphore)semaphore, value);
  if (fence == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "semaphore: no memory");
  weir_status status = weir__fence_submit(device, &fence->head, event, signals ? "signal" : "semaphore", NULL);
  if (status != WEIR_OK) weir__free(fence);
  return status;
}

weir_status weir_vulkan_wait_semaphore(weir_device *device, uint64_t semaphore, uint64_t value) {
  weir_status status = check(device, semaphore, "wait for a semaphore");
  return status == WEIR_OK ? submit(device, false, semaphore, value, NULL) : status;
}

weir_status weir_vulkan_import_semaphore(weir_device *device, uint64_t semaphore, uint64_t value,
                                         weir_event **out_event) {
  if (out_event == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "import semaphore: out_event is NULL");
  *out_event = NULL;
  weir_status status = check(device, semaphore, "import semaphore");
  if (status != WEIR_OK) return status;
  weir__vulkan_fence *fence = weir__vulkan_fence_create(false, (VkSemaphore)semaphore, value);
  if (fence == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "import semaphore: no memory");
  char name[WEIR__EXTERNAL_NAME_BYTES];
  snprintf(name, sizeof name, "value %llu of VkSemaphore 0x%llx", (unsigned long long)value,
           (unsigned long long)semaphore);
  status = weir__external_import(device, &fence->head, name, out_event);
  if (status != WEIR_OK) weir__free(fence);
  return status;
}

weir_status weir_vulkan_signal_semaphore(weir_device *device, uint64_t semaphore, uint64_t value, weir_event *event) {
  weir_status status = check(device, semaphore, "signal a semaphore");
  if (status == WEIR_OK && event != NULL)
    status = weir__object_check(event, WEIR__KIND_EVENT, weir__context_of(device->host), "signal a semaphore");
  return status == WEIR_OK ? submit(device, true, semaphore, value, event) : status;
}

weir_status weir_buffer_wrap_vulkan(weir_device *base, uint64_t vk_buffer, uint64_t offset, uint64_t bytes,
                                    weir_buffer **out_buffer) {
  if (out_buffer == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "buffer wrap: out_buffer is NULL");
  *out_buffer = NULL;
  weir_status status = weir__vulkan_check_device(base, "buffer wrap");
  if (status != WEIR_OK) return status;
  void *memory;
  status = weir__vulkan_wrap(weir__vulkan_of(base), vk_buffer, offset, bytes, &memory);
  return status == WEIR_OK ? weir__buffer_wrap(base, memory, bytes, out_buffer) : status;
}
