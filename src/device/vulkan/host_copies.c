// SPDX-License-Identifier: Apache-2.0
//
// The lane of copies that the host makes: between memory that the device does not reach and memory of the device's that the
// host does. A thread of its own makes them, in order; the device's thread hands them over when what they wait for is done,
// and signals the lane's semaphore. (All of Vulkan's calls about semaphores come from one thread.)
#include <sched.h>
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/tsan.h"
#include "device/vulkan/vulkan.h"

// A semaphore that there is no memory to signal is signalled again so many times: queues wait for it.
enum { MOST_TRIES = 1000 };

static weir__vulkan_batch *pop(weir__vulkan_device *device) {
  weir__lock_acquire(&device->copy_lock);
  weir__vulkan_batch *batch = device->first_copy;
  if (batch != NULL) {
    device->first_copy = batch->next_copy;
    if (device->first_copy == NULL) device->last_copy = NULL;
  }
  weir__lock_release(&device->copy_lock);
  return batch;
}

static void run_copy(weir__vulkan_device *device, weir__vulkan_batch *batch) {
  uint64_t value = batch->value, context_ns = device->base.device.host->start_ns;
  batch->start_ns = weir__clock_ns() - context_ns;
  if (batch->first->head.status == WEIR_OK) memcpy(batch->to, batch->from, batch->bytes);
  batch->end_ns = weir__clock_ns() - context_ns;
  atomic_store_explicit(&device->copies_done, value, memory_order_release); // from here on the batch may be used again
  atomic_fetch_add_explicit(&device->copies_word, 1, memory_order_release);
  weir__wake(&device->copies_word, 1);
}

static void *copier_main(void *argument) {
  weir__vulkan_device *device = argument;
  for (;;) {
    uint32_t seen = atomic_load_explicit(&device->copy_count, memory_order_acquire);
    weir__vulkan_batch *batch = pop(device);
    if (batch != NULL) {
      run_copy(device, batch);
      continue;
    }
    if (atomic_load_explicit(&device->copier_stopping, memory_order_acquire)) return NULL;
    weir__sleep_on(&device->copy_count, seen, UINT64_MAX);
  }
}

static void hand_over(weir__vulkan_device *device, weir__vulkan_batch *batch) {
  weir__lock_acquire(&device->copy_lock);
  batch->next_copy = NULL;
  if (device->last_copy == NULL)
    device->first_copy = batch;
  else
    device->last_copy->next_copy = batch;
  device->last_copy = batch;
  weir__lock_release(&device->copy_lock);
  device->copies_handed = batch->value;
  atomic_fetch_add_explicit(&device->copy_count, 1, memory_order_release);
  weir__wake(&device->copy_count, 1);
}

static bool waits_for_nothing(const weir__vulkan_device *device, const weir__vulkan_batch *batch) {
  for (uint64_t rest = batch->waited; rest != 0; rest &= rest - 1) {
    uint32_t lane = (uint32_t)__builtin_ctzll(rest);
    if (device->lanes[lane].reached < batch->waits[lane]) return false;
  }
  return true;
}

void weir__vulkan_copier_serve(weir__vulkan_device *device) {
  weir__vulkan_lane *lane = weir__vulkan_host_lane(device);
  uint64_t done = atomic_load_explicit(&device->copies_done, memory_order_acquire);
  VkResult result = VK_SUCCESS;
  while (lane->reached < done && device->base.lost == WEIR_OK && result == VK_SUCCESS) {
    const VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = lane->semaphore, .value = lane->reached + 1};
    result = device->calls.vkSignalSemaphore(device->device, &info);
    if (result == VK_SUCCESS)
      lane->reached++;
    else
      weir__vulkan_trouble(device, result);
  }
  while (device->next_copy != NULL && waits_for_nothing(device, device->next_copy)) {
    weir__vulkan_batch *batch = device->next_copy;
    device->next_copy = batch->next;
    hand_over(device, batch);
  }
}

void weir__vulkan_copier_give_up(weir__vulkan_device *device) {
  weir__vulkan_lane *lane = weir__vulkan_host_lane(device);
  device->next_copy = NULL;
  while (atomic_load_explicit(&device->copies_done, memory_order_acquire) < device->copies_handed) weir__pause();
  if (lane->reached >= lane->value) return;
  const VkSemaphoreSignalInfo info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = lane->semaphore, .value = lane->value};
  VkResult result = VK_NOT_READY;
  for (int tried = 0; tried < MOST_TRIES && result != VK_SUCCESS && result != VK_ERROR_DEVICE_LOST; tried++) {
    if (tried > 0) sched_yield();
    result = device->calls.vkSignalSemaphore(device->device, &info);
  }
  lane->reached = lane->value;
}

weir_status weir__vulkan_copier_start(weir__vulkan_device *device) {
  if (!weir__allocate_permit() || weir__thread_create(&device->copier, copier_main, device) != 0)
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device vulkan: no thread");
  device->has_copier = true;
  return WEIR_OK;
}

void weir__vulkan_copier_stop(weir__vulkan_device *device) {
  if (!device->has_copier) return;
  atomic_store_explicit(&device->copier_stopping, true, memory_order_release);
  atomic_fetch_add_explicit(&device->copy_count, 1, memory_order_release);
  weir__wake(&device->copy_count, 1);
  pthread_join(device->copier, NULL);
  device->has_copier = false;
}
