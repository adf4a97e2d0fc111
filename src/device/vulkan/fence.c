// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/fence.h"

#include <stdio.h>

#include "base/allocate.h"
#include "device/vulkan/validation.h"
#include "device/vulkan/vulkan.h"

enum { AWAITED_AT_ONCE = 16, LAYER_NS = 2000000 };

weir__vulkan_fence *weir__vulkan_fence_create(bool signals, VkSemaphore semaphore, uint64_t value) {
  weir__vulkan_fence *fence = weir__allocate(sizeof *fence);
  if (fence == NULL) return NULL;
  *fence = (weir__vulkan_fence){
      .head = {.signals = signals, .stalled = !signals, .always = signals}, .semaphore = semaphore, .value = value};
  return fence;
}

weir__external_fence *weir__vulkan_marker(weir_device *device) {
  (void)device;
  weir__vulkan_fence *fence = weir__vulkan_fence_create(true, VK_NULL_HANDLE, 0);
  if (fence == NULL) return NULL;
  fence->head.always = false;
  return &fence->head;
}

// What the host has seen is not visible to a queue that has not waited. The value is reached, so that nothing waits.
static VkResult let_queue_wait(weir__vulkan_device *device, weir__vulkan_queue *queue,
                               const weir__vulkan_fence *fence) {
  const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  const VkTimelineSemaphoreSubmitInfo timeline = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                  .waitSemaphoreValueCount = 1,
                                                  .pWaitSemaphoreValues = &fence->value};
  const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                             .pNext = &timeline,
                             .waitSemaphoreCount = 1,
                             .pWaitSemaphores = &fence->semaphore,
                             .pWaitDstStageMask = &stage};
  weir__vulkan_queue_acquire(device, queue);
  VkResult result = device->calls.vkQueueSubmit(queue->queue, 1, &info, VK_NULL_HANDLE);
  weir__vulkan_queue_release(device, queue);
  return result;
}

static bool is_first_of_queue(const weir__vulkan_device *device, uint32_t lane) {
  for (uint32_t i = 0; i < lane; i++) {
    if (device->lanes[i].queue == device->lanes[lane].queue) return false;
  }
  return device->lanes[lane].queue != NULL;
}

// The layer (1.3.239) notes a value that the host sets after the driver does, and reports an error of its own for a
// batch that waits for it in between.
static void let_layer_catch_up(void) {
  _Atomic uint32_t nobody = 0;
  if (weir__vulkan_validation_wanted()) weir__sleep_on(&nobody, 0, LAYER_NS);
}

// Tasks that come after an import may go to any queue, from its next batch on.
static VkResult let_queues_wait(weir__vulkan_device *device, const weir__vulkan_fence *fence) {
  VkResult result = VK_SUCCESS;
  let_layer_catch_up();
  for (uint32_t i = 0; i < device->lane_count && result == VK_SUCCESS; i++) {
    if (is_first_of_queue(device, i)) result = let_queue_wait(device, device->lanes[i].queue, fence);
  }
  return result;
}

bool weir__vulkan_fence_is_over(void *user, weir__external_fence *head) {
  weir__vulkan_device *device = user;
  const weir__vulkan_fence *fence = (const weir__vulkan_fence *)head;
  uint64_t value = 0;
  if (device->base.lost != WEIR_OK) {
    head->status = device->base.lost;
    snprintf(head->text, sizeof head->text, "%.*s", (int)sizeof head->text - 1, device->base.lost_text);
    return true;
  }
  VkResult result = device->calls.vkGetSemaphoreCounterValue(device->device, fence->semaphore, &value);
  bool over = result == VK_SUCCESS && value >= fence->value;
  if (over && head->task == NULL) result = let_queues_wait(device, fence);
  if (result != VK_SUCCESS) weir__vulkan_trouble(device, result);
  return over && result == VK_SUCCESS;
}

void weir__vulkan_fence_destroy(weir__in_order_device *base, weir__external_fence *head) {
  weir__vulkan_device *device = weir__vulkan_of(&base->device);
  const weir__vulkan_fence *fence = (const weir__vulkan_fence *)head;
  if (head->signals && fence->semaphore != VK_NULL_HANDLE && !fence->submitted && !weir__vulkan_is_in_trouble(device)) {
    const VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = fence->semaphore, .value = fence->value};
    VkResult result = device->calls.vkSignalSemaphore(device->device, &info);
    if (result != VK_SUCCESS) weir__vulkan_trouble(device, result);
  }
  weir__free(head);
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
