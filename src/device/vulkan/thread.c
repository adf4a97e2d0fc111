// SPDX-License-Identifier: Apache-2.0
//
// The device's thread: takes tasks from the ring, holds them back or has them recorded, notices what is done.
#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/vulkan/vulkan.h"

enum {
  BATCHES_AHEAD = 2,  // in flight: with fewer, what is held back is issued
  BLOCKED_NS = 50000, // how long the thread waits for the device before it looks for tasks
  NAP_NS = 1000000,   // where a task that is pushed just before the thread sleeps could be missed
  ROUNDS_PER_CLOCK = 16,
};

static void wake(weir__vulkan_device *device) {
  if (atomic_load_explicit(&device->sleeping, memory_order_relaxed) == 0) return;
  if (atomic_exchange_explicit(&device->sleeping, 0, memory_order_seq_cst) == 1) weir__wake(&device->sleeping, 1);
}

void weir__vulkan_wake(weir__vulkan_device *device) {
  weir__barrier_light(); // see must_sleep
  wake(device);
}

void weir__vulkan_push(weir_device *base, weir__task *task) {
  weir__vulkan_device *device = weir__vulkan_of(base);
  uint64_t at = atomic_load_explicit(&device->pushed, memory_order_relaxed);
  device->ring[at & base->host->window.live.mask] = task;
  atomic_store_explicit(&device->pushed, at + 1, memory_order_release);
  weir__vulkan_wake(device);
}

void weir__vulkan_flush(weir_device *base) {
  weir__vulkan_device *device = weir__vulkan_of(base);
  if (atomic_load_explicit(&device->flush, memory_order_relaxed)) return;
  atomic_store_explicit(&device->flush, true, memory_order_release);
}

static bool take_tasks(weir__vulkan_device *device) {
  uint64_t pushed = atomic_load_explicit(&device->pushed, memory_order_acquire);
  if (device->taken == pushed) return false;
  uint32_t mask = device->base.host->window.live.mask;
  for (; device->taken < pushed && weir__vulkan_held_count(device) < WEIR__VULKAN_HELD_AT_MOST; device->taken++)
    weir__vulkan_hold(device, device->ring[device->taken & mask]);
  return true;
}

// What is held back goes when the device has little left to do, when somebody waits, or when it has become much. For tests
// also at random.
static bool must_issue(weir__vulkan_device *device) {
  if (weir__vulkan_held_count(device) == 0) return false;
  if (device->batches_in_flight < BATCHES_AHEAD || weir__vulkan_held_count(device) >= WEIR__VULKAN_HELD_AT_MOST)
    return true;
  if (device->random != 0) {
    device->random = device->random * 6364136223846793005u + 1442695040888963407u;
    if (device->random >> 62 == 0) return true;
  }
  return atomic_load_explicit(&device->flush, memory_order_relaxed) &&
         atomic_exchange_explicit(&device->flush, false, memory_order_acquire);
}

static bool must_sleep(weir__vulkan_device *device, uint64_t *out_ns) {
  atomic_store_explicit(&device->sleeping, 1, memory_order_seq_cst);
  *out_ns = weir__barrier_heavy() ? UINT64_MAX : NAP_NS;
  bool work = atomic_load_explicit(&device->pushed, memory_order_seq_cst) != device->taken ||
              weir__fences_any(&device->fences) || atomic_load_explicit(&device->stopping, memory_order_seq_cst);
  if (work) atomic_store_explicit(&device->sleeping, 0, memory_order_relaxed);
  return !work;
}

static void *thread_main(void *argument) {
  weir__vulkan_device *device = argument;
  weir__this_thread.in_task = true; // callbacks are called here, and must not wait
  uint64_t idle_since = 0;
  for (uint32_t rounds = 0;; rounds++) {
    bool any = take_tasks(device);
    bool well = weir__vulkan_is_well(device);
    if (must_issue(device) || (!well && weir__vulkan_held_count(device) > 0)) {
      weir__vulkan_issue_held(device);
      any = true;
    }
    if (well ? weir__vulkan_poll(device) : weir__vulkan_report_lost(device)) any = true;
    if (weir__vulkan_serve_fences(device)) any = true;
    if (any) {
      idle_since = 0;
      continue;
    }
    weir__pause();
    if (rounds % ROUNDS_PER_CLOCK != 0) continue;
    uint64_t now = weir__clock_ns();
    if (idle_since == 0) idle_since = now;
    if (now - idle_since < device->spin_ns) continue;
    if (device->ops_in_flight > 0) {
      weir__vulkan_wait_any(device, BLOCKED_NS);
      continue;
    }
    if (weir__fences_any(&device->fences)) {
      weir__vulkan_await_fences(device, BLOCKED_NS);
      continue;
    }
    if (atomic_load_explicit(&device->stopping, memory_order_acquire)) return NULL;
    uint64_t nap_ns;
    if (!must_sleep(device, &nap_ns)) continue;
    weir__sleep_on(&device->sleeping, 1, nap_ns);
    atomic_store_explicit(&device->sleeping, 0, memory_order_relaxed);
    idle_since = 0;
  }
}

weir_status weir__vulkan_thread_start(weir__vulkan_device *device) {
  if (!weir__allocate_permit() || pthread_create(&device->thread, NULL, thread_main, device) != 0)
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device vulkan: no thread");
  device->has_thread = true;
  device->base.thread = &device->thread;
  return WEIR_OK;
}

void weir__vulkan_thread_stop(weir__vulkan_device *device) {
  if (!device->has_thread) return;
  atomic_store_explicit(&device->stopping, true, memory_order_seq_cst);
  atomic_thread_fence(memory_order_seq_cst);
  wake(device);
  pthread_join(device->thread, NULL);
  device->has_thread = false;
}
