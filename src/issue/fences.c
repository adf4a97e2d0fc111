// SPDX-License-Identifier: Apache-2.0
#include "issue/fences.h"

void weir__fences_add(weir__fences *fences, weir__external_fence *fence) {
  weir__lock_acquire(&fences->lock);
  fence->next = fences->first;
  fences->first = fence;
  atomic_fetch_add_explicit(&fences->count, 1, memory_order_seq_cst);
  weir__lock_release(&fences->lock);
}

// Takes those that are over out of the list.
static weir__external_fence *take_over(weir__fences *fences, const weir__host *host,
                                       bool (*is_over)(void *device, weir__external_fence *fence), void *device) {
  weir__external_fence *over = NULL;
  weir__lock_acquire(&fences->lock);
  for (weir__external_fence **link = &fences->first; *link != NULL;) {
    weir__external_fence *fence = *link;
    bool cancelled =
        fence->task != NULL && fence->task->id < atomic_load_explicit(&host->cancel_before, memory_order_relaxed);
    if (!is_over(device, fence) && !cancelled) {
      link = &fence->next;
      continue;
    }
    *link = fence->next;
    fence->next = over;
    over = fence;
    atomic_fetch_sub_explicit(&fences->count, 1, memory_order_relaxed);
  }
  weir__lock_release(&fences->lock);
  return over;
}

bool weir__fences_serve(weir__fences *fences, weir__host *host,
                        bool (*is_over)(void *device, weir__external_fence *fence),
                        void (*destroy)(void *device, weir__external_fence *fence), void *device) {
  if (atomic_load_explicit(&fences->count, memory_order_acquire) == 0) return false;
  weir__external_fence *fence = take_over(fences, host, is_over, device);
  if (fence == NULL) return false;
  weir__host_lock(host);
  while (fence != NULL) {
    weir__external_fence *next = fence->next; // it may be freed as soon as its task is done
    if (fence->task != NULL) {
      weir__host_release(host, fence->task);
    } else {
      fence->ended(fence);
      destroy(device, fence);
    }
    fence = next;
  }
  weir__host_unlock(host);
  return true;
}

void weir__fences_forget(weir__fences *fences, void (*destroy)(void *device, weir__external_fence *fence),
                         void *device) {
  while (fences->first != NULL) {
    weir__external_fence *fence = fences->first;
    fences->first = fence->next;
    destroy(device, fence);
  }
}
