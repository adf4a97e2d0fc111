// SPDX-License-Identifier: Apache-2.0
//
// Order with other Vulkan code, by timeline semaphores of the caller's.
//
// A wait is a task that every later one comes after. It holds a blocker of its own until the device's thread sees that the
// semaphore has reached the value; then it is issued, and its batch waits for the value once more, in the queue, so that what
// was written becomes visible there. A queue that waited from the start would hold up tasks that were submitted before, on
// which the caller's work may depend in turn.
//
// A signal is a task behind those it stands for; its batch signals the semaphore.
#include "api/storage.h"
#include "api/submit.h"
#include "base/allocate.h"
#include "base/error.h"
#include "device/vulkan/share.h"
#include "device/vulkan/vulkan.h"

enum { AWAITED_AT_ONCE = 16 };

typedef struct order {
  weir__vulkan_device *device;
  weir__vulkan_fence *fence;
  const weir_event *event; // to come after; NULL: all tasks, for one that signals
} order;

static void await(weir__vulkan_device *device, weir__vulkan_fence *fence) {
  weir__lock_acquire(&device->fence_lock);
  fence->next = device->fences;
  device->fences = fence;
  atomic_fetch_add_explicit(&device->fence_count, 1, memory_order_release);
  weir__lock_release(&device->fence_lock);
}

static weir__admit_result enter_fence(const order *wanted, weir_status *out_status) {
  weir__vulkan_device *device = wanted->device;
  weir__vulkan_fence *fence = wanted->fence;
  weir_context *context = device->base.context;
  const char *label = fence->signals ? "signal" : "semaphore";
  const weir_task named = {.label = label};
  const weir__submission submission = {.task = &named};
  weir__admit_result result = weir__await_room(context, &submission, 1, out_status);
  if (result != WEIR__ADMITTED) return result;
  weir__id first = wanted->event != NULL ? wanted->event->task : context->window.live.oldest;
  weir__id last = wanted->event != NULL ? wanted->event->last : context->window.next - 1;
  weir__task *task = weir__window_begin(&context->window);
  weir__move *move = (weir__move *)(void *)task->payload;
  *move = (weir__move){.fence = fence};
  weir__request request = {.submission = &submission, .device = &device->base, .label = label, .move = move};
  weir__hits_clear(&context->hits);
  context->held_listed = false;
  for (weir__id id = first; fence->signals && id <= last; id++)
    weir__hit_task(context, &context->hits, id, WEIR__HAZARD_AFTER);
  task->event = NULL;
  fence->task = task;
  if (!fence->signals) task->blockers++;
  context->statistics.tasks++;
  weir__admit_found(context, &request, task);
  if (fence->signals) return WEIR__ADMITTED;
  context->fence = task->id;
  await(device, fence);
  weir__vulkan_wake(device);
  return WEIR__ADMITTED;
}

static weir_status submit(weir__vulkan_device *device, const weir__vulkan_fence *wanted, const weir_event *event) {
  weir_context *context = device->base.context;
  order item = {.device = device, .event = event, .fence = weir__allocate(sizeof *item.fence)};
  if (item.fence == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "semaphore: no memory");
  *item.fence = *wanted;
  weir_status status = WEIR_OK;
  weir__admit_result result;
  weir__context_lock(context);
  do {
    result = enter_fence(&item, &status);
  } while (result == WEIR__RETRY);
  weir__context_unlock(context);
  if (result != WEIR__ADMITTED) weir__free(item.fence);
  return status;
}

static weir_status check(const weir_device *device, uint64_t semaphore, const char *what) {
  weir_status status = weir__vulkan_check_device(device, what);
  if (status == WEIR_OK && semaphore == 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the VkSemaphore is VK_NULL_HANDLE", what);
  return status;
}

weir_status weir_vulkan_wait_semaphore(weir_device *device, uint64_t semaphore, uint64_t value) {
  weir_status status = check(device, semaphore, "wait for a semaphore");
  if (status != WEIR_OK) return status;
  return submit(weir__vulkan_of(device), &(weir__vulkan_fence){.semaphore = (VkSemaphore)semaphore, .value = value},
                NULL);
}

weir_status weir_vulkan_signal_semaphore(weir_device *device, uint64_t semaphore, uint64_t value, weir_event *event) {
  weir_status status = check(device, semaphore, "signal a semaphore");
  if (status == WEIR_OK && event != NULL)
    status = weir__object_check(event, WEIR__KIND_EVENT, device->context, "signal a semaphore");
  if (status != WEIR_OK) return status;
  const weir__vulkan_fence fence = {.signals = true, .semaphore = (VkSemaphore)semaphore, .value = value};
  return submit(weir__vulkan_of(device), &fence, event);
}

// Whether its task need wait no more: also where it will not run, because it was cancelled or the device is lost.
static bool is_reached(weir__vulkan_device *device, const weir__vulkan_fence *fence) {
  uint64_t value = 0;
  const weir_context *context = device->base.context;
  if (device->lost != WEIR_OK || fence->task->id < atomic_load_explicit(&context->cancel_before, memory_order_relaxed))
    return true;
  VkResult result = device->calls.vkGetSemaphoreCounterValue(device->device, fence->semaphore, &value);
  if (result != VK_SUCCESS) weir__vulkan_trouble(device, result);
  return result == VK_SUCCESS && value >= fence->value;
}

// Those that have reached their value, taken out of the list.
static weir__vulkan_fence *take_reached(weir__vulkan_device *device) {
  weir__vulkan_fence *reached = NULL;
  weir__lock_acquire(&device->fence_lock);
  for (weir__vulkan_fence **link = &device->fences; *link != NULL;) {
    weir__vulkan_fence *fence = *link;
    if (!is_reached(device, fence)) {
      link = &fence->next;
      continue;
    }
    *link = fence->next;
    fence->next = reached;
    reached = fence;
    atomic_fetch_sub_explicit(&device->fence_count, 1, memory_order_relaxed);
  }
  weir__lock_release(&device->fence_lock);
  return reached;
}

bool weir__vulkan_serve_fences(weir__vulkan_device *device) {
  if (atomic_load_explicit(&device->fence_count, memory_order_acquire) == 0) return false;
  weir_context *context = device->base.context;
  weir__vulkan_fence *fence = take_reached(device);
  if (fence == NULL) return false;
  weir__context_lock(context);
  while (fence != NULL) {
    weir__vulkan_fence *next = fence->next; // it may be freed as soon as its task is done
    weir__window_release(&context->window, fence->task);
    fence = next;
  }
  weir__context_issue_ready(context);
  weir__context_unlock(context);
  return true;
}

void weir__vulkan_await_fences(weir__vulkan_device *device, uint64_t ns) {
  VkSemaphore semaphores[AWAITED_AT_ONCE];
  uint64_t values[AWAITED_AT_ONCE];
  uint32_t count = 0;
  weir__lock_acquire(&device->fence_lock);
  for (weir__vulkan_fence *fence = device->fences; fence != NULL && count < AWAITED_AT_ONCE; fence = fence->next) {
    semaphores[count] = fence->semaphore;
    values[count++] = fence->value;
  }
  weir__lock_release(&device->fence_lock);
  const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                    .flags = VK_SEMAPHORE_WAIT_ANY_BIT,
                                    .semaphoreCount = count,
                                    .pSemaphores = semaphores,
                                    .pValues = values};
  if (count > 0) device->calls.vkWaitSemaphores(device->device, &info, ns);
}
