// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/fence.h"

#include "base/allocate.h"
#include "device/vulkan/vulkan.h"

enum { AWAITED_AT_ONCE = 16 };

weir__vulkan_fence *weir__vulkan_fence_create(bool signals, VkSemaphore semaphore, uint64_t value) {
  weir__vulkan_fence *fence = weir__allocate(sizeof *fence);
  if (fence == NULL) return NULL;
  *fence = (weir__vulkan_fence){
      .head = {.signals = signals, .stalled = !signals, .always = signals}, .semaphore = semaphore, .value = value};
  return fence;
}

bool weir__vulkan_fence_is_over(void *user, weir__external_fence *head) {
  weir__vulkan_device *device = user;
  const weir__vulkan_fence *fence = (const weir__vulkan_fence *)head;
  uint64_t value = 0;
  if (device->base.lost != WEIR_OK) return true;
  VkResult result = device->calls.vkGetSemaphoreCounterValue(device->device, fence->semaphore, &value);
  if (result != VK_SUCCESS) weir__vulkan_trouble(device, result);
  return result == VK_SUCCESS && value >= fence->value;
}

void weir__vulkan_await_fences(weir__vulkan_device *device, uint64_t ns) {
  VkSemaphore semaphores[AWAITED_AT_ONCE];
  uint64_t values[AWAITED_AT_ONCE];
  uint32_t count = 0;
  weir__lock_acquire(&device->base.fences.lock);
  for (const weir__external_fence *head = device->base.fences.first; head != NULL && count < AWAITED_AT_ONCE;
       head = head->next) {
    const weir__vulkan_fence *fence = (const weir__vulkan_fence *)head;
    semaphores[count] = fence->semaphore;
    values[count++] = fence->value;
  }
  weir__lock_release(&device->base.fences.lock);
  const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                    .flags = VK_SEMAPHORE_WAIT_ANY_BIT,
                                    .semaphoreCount = count,
                                    .pSemaphores = semaphores,
                                    .pValues = values};
  if (count > 0) device->calls.vkWaitSemaphores(device->device, &info, ns);
}
