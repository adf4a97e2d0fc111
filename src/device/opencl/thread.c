// SPDX-License-Identifier: Apache-2.0
//
// The device's thread: takes tasks from the ring, enqueues them, notices what is done. While it waits for commands it sleeps,
// since the device may well be the CPU that it runs on: the driver rings when one is done, and should it not, a nap ends soon.
#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/opencl/fence.h"
#include "device/opencl/opencl.h"

enum {
  TASKS_AT_ONCE = 16,
  TASKS_BETWEEN_REPORTS = 96,
  PAUSES = 8,
  PAUSES_PER_CLOCK = 16,
  NAP_NS = 1000000,
  SHORT_NAP_NS = 200000, // of a thread that lags
  DEEP = 8,              // tasks in flight from which on it may
};

static void wake(weir__opencl_bell *bell) {
  if (atomic_load_explicit(&bell->sleeping, memory_order_relaxed) == 0) return;
  if (atomic_exchange_explicit(&bell->sleeping, 0, memory_order_seq_cst) == 1) weir__wake(&bell->sleeping, 1);
}

void weir__opencl_wake(weir__opencl_device *device) {
  weir__barrier_light(); // see must_sleep
  wake(device->bell);
}

void weir__opencl_push(weir_device *base, weir__task *task) {
  weir__opencl_device *device = weir__opencl_of(base);
  uint64_t at = atomic_load_explicit(&device->pushed, memory_order_relaxed);
  device->ring[at & base->host->window.live.mask] = task;
  atomic_store_explicit(&device->pushed, at + 1, memory_order_release);
  weir__opencl_wake(device);
}

// Takes some tasks from the ring. Returns whether there were any.
static bool take_tasks(weir__opencl_device *device) {
  uint64_t pushed = atomic_load_explicit(&device->pushed, memory_order_acquire);
  if (device->taken == pushed) return false;
  uint64_t end = pushed - device->taken > TASKS_AT_ONCE ? device->taken + TASKS_AT_ONCE : pushed;
  uint32_t mask = device->base.host->window.live.mask;
  for (; device->taken < end; device->taken++) weir__opencl_issue(device, device->ring[device->taken & mask]);
  return true;
}

// Whether what is done may be reported later than at once: on a CPU, to wake for each task costs the tasks more than many of them take.
// With one device only the host can wait for a task, by its event, and such tasks are not late.
static bool may_lag(const weir__opencl_device *device) {
  return (device->listed->type & CL_DEVICE_TYPE_CPU) != 0 && device->ops_in_flight >= DEEP &&
         device->base.host->device_count == 1;
}

// Tells who hands over tasks, and the driver, that the thread is about to sleep; then looks once more for what they did before.
static bool must_sleep(weir__opencl_device *device, bool lags, uint64_t *out_ns) {
  atomic_store_explicit(&device->bell->sleeping, 1, memory_order_seq_cst);
  bool heavy = !lags && weir__barrier_heavy(); // who lags may miss a task until the nap ends
  weir__opencl_ask_to_ring(device, lags);
  bool work = atomic_load_explicit(&device->pushed, memory_order_seq_cst) != device->taken ||
              atomic_load_explicit(&device->stopping, memory_order_seq_cst) || weir__opencl_has_done(device, lags);
  if (work) atomic_store_explicit(&device->bell->sleeping, 0, memory_order_relaxed);
  bool idle = device->ops_in_flight == 0 && !weir__fences_any(&device->fences);
  *out_ns = lags ? SHORT_NAP_NS : heavy && idle ? UINT64_MAX : NAP_NS;
  return !work;
}

// Returns whether it slept.
static bool nap(weir__opencl_device *device, bool lags) {
  uint64_t ns;
  if (!must_sleep(device, lags, &ns)) return false;
  weir__sleep_on(&device->bell->sleeping, 1, ns);
  atomic_store_explicit(&device->bell->sleeping, 0, memory_order_relaxed);
  return true;
}

static void *thread_main(void *argument) {
  weir__opencl_device *device = argument;
  weir__this_thread.in_task = true; // callbacks are called here, and must not wait
  uint64_t idle_since = 0, reported = 0;
  bool rested = false;
  for (uint32_t rounds = 0;; rounds++) {
    bool any = weir__opencl_serve_fences(device);
    any = take_tasks(device) || any;
    if (!any) weir__opencl_flush(device);
    bool lags = !any && !rested && may_lag(device);
    rested = false;
    // While tasks come in, what is done is reported now and then only: it takes the lock from who submits them.
    if (lags ? weir__opencl_has_done(device, true) : !any || device->taken - reported >= TASKS_BETWEEN_REPORTS) {
      reported = device->taken;
      any = weir__opencl_poll(device) || any;
    }
    if (any) {
      idle_since = 0;
      continue;
    }
    if (device->ops_in_flight == 0 && atomic_load_explicit(&device->stopping, memory_order_acquire) &&
        atomic_load_explicit(&device->pushed, memory_order_acquire) == device->taken)
      return NULL;
    for (int i = 0; i < PAUSES; i++) weir__pause();
    if (!lags && rounds % PAUSES_PER_CLOCK != 0) continue;
    uint64_t now = weir__clock_ns();
    if (idle_since == 0) idle_since = now;
    bool spins = !lags && now - idle_since < device->spin_ns;
    if (spins || !nap(device, lags)) continue;
    idle_since = 0;
    rested = true;
  }
}

weir_status weir__opencl_thread_start(weir__opencl_device *device) {
  if (!weir__allocate_permit() || pthread_create(&device->thread, NULL, thread_main, device) != 0)
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device opencl: no thread");
  device->has_thread = true;
  device->base.thread = &device->thread;
  return WEIR_OK;
}

void weir__opencl_thread_stop(weir__opencl_device *device) {
  if (!device->has_thread) return;
  atomic_store_explicit(&device->stopping, true, memory_order_seq_cst);
  atomic_thread_fence(memory_order_seq_cst);
  wake(device->bell);
  pthread_join(device->thread, NULL);
  device->has_thread = false;
}
