// SPDX-License-Identifier: Apache-2.0
//
// What other threads hand to the device's thread: tasks, requests, and that it is to hurry.
#include "device/cuda/cuda_device.h"

static void wake(weir__cuda_device *device) {
  if (atomic_load_explicit(&device->sleeping, memory_order_relaxed) == 0) return;
  if (atomic_exchange_explicit(&device->sleeping, 0, memory_order_seq_cst) == 1) weir__wake(&device->sleeping, 1);
}

void weir__cuda_push(weir_device *base, weir__task *task) {
  weir__cuda_device *device = weir__cuda_of(base);
  uint64_t at = atomic_load_explicit(&device->pushed, memory_order_relaxed);
  device->ring[at & device->slot_mask] = task;
  atomic_store_explicit(&device->pushed, at + 1, memory_order_release);
  weir__barrier_light(); // see must_sleep
  wake(device);
}

void weir__cuda_flush(weir_device *base) {
  weir__cuda_device *device = weir__cuda_of(base);
  if (atomic_load_explicit(&device->flush, memory_order_relaxed)) return;
  atomic_store_explicit(&device->flush, true, memory_order_release);
}

void weir__cuda_rouse(weir_device *base) {
  wake(weir__cuda_of(base)); // and its launchers by it
}

void weir__cuda_ask(weir__cuda_device *device, weir__cuda_request *request) {
  atomic_store_explicit(&request->done, 0, memory_order_relaxed);
  request->next = atomic_load_explicit(&device->requests, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&device->requests, &request->next, request, memory_order_seq_cst,
                                                memory_order_relaxed)) {
  }
  atomic_thread_fence(memory_order_seq_cst);
  wake(device);
  while (atomic_load_explicit(&request->done, memory_order_acquire) == 0) weir__sleep_on(&request->done, 0, UINT64_MAX);
}
