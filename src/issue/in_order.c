// SPDX-License-Identifier: Apache-2.0
//
// The device and its thread.
#include "issue/in_order.h"

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/tsan.h"

enum { STARTING, STARTED, NOT_STARTED };

static const uint64_t NAP_NS = 1000000; // where a task that is pushed just before the thread sleeps could be missed

bool weir__in_order_initialize(weir__in_order_device *device, uint32_t queue_count, uint32_t special) {
  return weir__in_order_initialize_wide(device, queue_count, special, 0);
}

void weir__in_order_widen(weir__in_order_device *device, uint32_t more) {
  weir__queues_widen(device->queues);
  device->queue_count += more;
}

bool weir__in_order_initialize_wide(weir__in_order_device *device, uint32_t queue_count, uint32_t special,
                                    uint32_t more) {
  uint32_t window = device->device.host->window.size;
  device->queue_count = queue_count;
  device->queues = weir__queues_create_wide(queue_count, special, queue_count + more);
  device->in_flight = weir__allocate_zeroed((queue_count + more) * sizeof *device->in_flight);
  return device->queues != NULL && device->in_flight != NULL && weir__inbox_initialize(&device->inbox, window) &&
         weir__operations_initialize(&device->operations, device->table->operation_bytes, window);
}

void weir__in_order_deinitialize(weir__in_order_device *device) {
  weir__operations_deinitialize(&device->operations);
  weir__inbox_deinitialize(&device->inbox);
  weir__free(device->in_flight);
  weir__queues_destroy(device->queues);
}

void weir__in_order_push(weir_device *base, weir__task *task) {
  weir__inbox_push(&weir__in_order_of(base)->inbox, task);
}

void weir__in_order_flush(weir_device *base) {
  weir__inbox_flush(&weir__in_order_of(base)->inbox);
}

void weir__in_order_prewake(weir_device *base) {
  weir__inbox_prewake(&weir__in_order_of(base)->inbox);
}

void weir__in_order_stall(weir_device *base, weir__external_fence *fence) {
  weir__in_order_device *device = weir__in_order_of(base);
  weir__fences_add(&device->fences, fence);
  weir__inbox_wake(&device->inbox);
}

// Returns whether it slept.
static bool nap(weir__in_order_device *device) {
  const weir__in_order_table *table = device->table;
  uint64_t ns = weir__inbox_announce_sleep(&device->inbox, !device->hurries) ? UINT64_MAX : NAP_NS;
  if (table->may_sleep != NULL && !table->may_sleep(device, &ns)) {
    weir__inbox_stay_awake(&device->inbox);
    return false;
  }
  return weir__inbox_sleep(&device->inbox, ns);
}

static void run(weir__in_order_device *device) {
  const weir__in_order_table *table = device->table;
  uint64_t idle_since = 0;
  for (uint32_t rounds = 0;; rounds++) {
    if (table->work(device)) {
      idle_since = 0;
      continue;
    }
    bool stopping = weir__inbox_is_stopping(&device->inbox);
    for (uint32_t i = 0; i < table->pauses; i++) weir__pause();
    if (!stopping && !device->hurries) {
      if (rounds % table->rounds_per_clock != 0) continue;
      uint64_t now = weir__clock_ns();
      if (idle_since == 0) idle_since = now;
      if (now - idle_since < device->spin_ns) continue;
    }
    if (table->rest != NULL && table->rest(device)) continue;
    if (stopping && device->operation_count == 0) return;
    if (!nap(device)) continue;
    idle_since = 0;
    device->slept = true;
  }
}

static void *thread_main(void *argument) {
  weir__in_order_device *device = argument;
  const weir__in_order_table *table = device->table;
  weir__this_thread.in_task = true; // callbacks are called here, and must not wait
  bool good = table->begin == NULL || table->begin(device);
  atomic_store_explicit(&device->started, good ? STARTED : NOT_STARTED, memory_order_release);
  weir__wake(&device->started, 1);
  if (!good) return NULL;
  run(device);
  if (table->end != NULL) table->end(device);
  return NULL;
}

weir_status weir__in_order_start(weir__in_order_device *device) {
  const char *kind = device->device.ops->kind;
  if (!weir__allocate_permit() || weir__thread_create(&device->thread, thread_main, device) != 0)
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device %s: no thread", kind);
  while (atomic_load_explicit(&device->started, memory_order_acquire) == STARTING)
    weir__sleep_on(&device->started, STARTING, UINT64_MAX);
  if (atomic_load_explicit(&device->started, memory_order_acquire) != STARTED) {
    pthread_join(device->thread, NULL);
    return weir__error(WEIR_ERROR_UNAVAILABLE, "device %s: a thread cannot use the device", kind);
  }
  device->has_thread = true;
  device->device.thread = &device->thread;
  return WEIR_OK;
}

void weir__in_order_stop(weir__in_order_device *device) {
  if (!device->has_thread) return;
  weir__inbox_stop(&device->inbox);
  pthread_join(device->thread, NULL);
  device->has_thread = false;
  weir__in_order_forget_fences(device);
}
