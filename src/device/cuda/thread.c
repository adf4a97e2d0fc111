// SPDX-License-Identifier: Apache-2.0
//
// The device's thread: takes tasks from the ring, launches them, notices what is done.
#include <sched.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/cuda/cuda_device.h"

enum {
  TASKS_AT_ONCE = 16,
  TASKS_BETWEEN_REPORTS = 96,
  LINE = 64,           // bytes of a cache line
  FEW_ARGUMENTS = 256, // bytes
  PAUSES = 8,
  PAUSES_PER_CLOCK = 64,
  FEW_CORES = 2,
  NAP_NS = 1000000, // where a task that is pushed just before the thread sleeps could be missed
};

static CUresult let_wait(weir__cuda_device *device, CUstream stream, weir__cuda_op *op) {
  CUresult result = weir__cuda_record(device, op);
  if (result == CUDA_SUCCESS && op->finished) return result; // its event could not be recorded
  return result == CUDA_SUCCESS ? device->driver->cuStreamWaitEvent(stream, op->event, CU_EVENT_WAIT_DEFAULT) : result;
}

// The task's op, or, where no event can stand for it alone any more, the last of its queue.
static CUresult answer_for_task(weir__cuda_device *device, const weir__cuda_request *request) {
  weir__cuda_op *op = weir__cuda_find(device, request->task);
  if (op == NULL) return CUDA_SUCCESS;
  return let_wait(device, request->stream, op->event != NULL ? op : device->queues_in_flight[op->place->queue].last);
}

static void answer(weir__cuda_device *device, weir__cuda_request *request) {
  CUresult result = CUDA_SUCCESS;
  if (device->lost == WEIR_OK && request->task != 0) {
    result = answer_for_task(device, request);
  } else if (device->lost == WEIR_OK) {
    for (uint32_t i = 0; i < device->queue_count && result == CUDA_SUCCESS; i++) {
      weir__cuda_op *last = device->queues_in_flight[i].last;
      if (last != NULL) result = let_wait(device, request->stream, last);
    }
  }
  request->result = result;
  atomic_store_explicit(&request->done, 1, memory_order_release);
  weir__wake(&request->done, 1);
}

// Answers requests whose tasks have all been launched. Returns whether there were any.
static bool answer_all(weir__cuda_device *device, weir__cuda_request *request) {
  bool any = request != NULL;
  while (request != NULL) {
    weir__cuda_request *next = request->next;
    answer(device, request);
    request = next;
  }
  return any;
}

// Another core has just written the task: all that will be read of it is asked for at once. Its first line is that core's.
static void prefetch(const weir__task *task) {
  const char *first = (const char *)&task->id, *end = (const char *)task->payload + FEW_ARGUMENTS;
  for (const char *line = first; line < end; line += LINE) __builtin_prefetch(line);
}

// Takes some tasks from the ring. Returns whether there were any.
static bool take_tasks(weir__cuda_device *device) {
  uint64_t pushed = atomic_load_explicit(&device->pushed, memory_order_acquire);
  if (device->taken == pushed) return false;
  uint64_t end = pushed - device->taken > TASKS_AT_ONCE ? device->taken + TASKS_AT_ONCE : pushed;
  uint32_t mask = device->slot_mask;
  for (uint64_t at = device->taken; at < end; at++) prefetch(device->ring[at & mask]);
  void (*take)(weir__cuda_device *, weir__task *) = device->paths[0]->take;
  for (; device->taken < end; device->taken++) take(device, device->ring[device->taken & mask]);
  return true;
}

static bool has_requests(const weir__cuda_device *device) {
  return atomic_load_explicit(&device->requests, memory_order_acquire) != NULL;
}

// Whoever waits wants what is held back; what was pushed before the wait began is launched with it. Returns the requests
// that can be answered now: those that were there before the ring was found empty.
static weir__cuda_request *launch_what_is_wanted(weir__cuda_device *device) {
  bool asked = has_requests(device);
  weir__cuda_request *requests = asked && !weir__cuda_bars_streams(device)
                                     ? atomic_exchange_explicit(&device->requests, NULL, memory_order_acquire)
                                     : NULL;
  // Looked at first, for what is written here is taken away from who submits.
  bool wanted = (atomic_load_explicit(&device->flush, memory_order_relaxed) &&
                 atomic_exchange_explicit(&device->flush, false, memory_order_acquire)) ||
                asked;
  while (wanted && take_tasks(device)) {
  }
  weir__cuda_flush_paths(device, wanted);
  return requests;
}

static bool must_sleep(weir__cuda_device *device, uint64_t *out_ns) {
  atomic_store_explicit(&device->sleeping, 1, memory_order_seq_cst);
  *out_ns = weir__barrier_heavy() ? UINT64_MAX : NAP_NS;
  bool work = atomic_load_explicit(&device->pushed, memory_order_seq_cst) != device->taken || has_requests(device) ||
              atomic_load_explicit(&device->stopping, memory_order_seq_cst);
  if (work) atomic_store_explicit(&device->sleeping, 0, memory_order_relaxed);
  return !work;
}

static void *thread_main(void *argument) {
  weir__cuda_device *device = argument;
  weir__this_thread.in_task = true; // callbacks are called here, and must not wait
  if (!weir__cuda_begin_thread(device, &device->thread_state)) return NULL;
  uint64_t idle_since = 0;
  for (uint32_t rounds = 0;; rounds++) {
    bool any = take_tasks(device);
    weir__cuda_begin_round(device, any);
    weir__cuda_request *requests = any ? NULL : launch_what_is_wanted(device);
    bool well = weir__cuda_is_well(device);
    if (!any && well) weir__cuda_mark_ends(device);
    if (answer_all(device, requests)) any = true;
    // While tasks come in, what is done is reported now and then only: it takes the lock from who submits them.
    bool polls = !any || device->taken - device->last_poll >= TASKS_BETWEEN_REPORTS;
    if (polls) device->last_poll = device->taken;
    if (well ? polls && weir__cuda_poll(device, !any) : weir__cuda_report_lost(device)) any = true;
    if (weir__cuda_go_on(device)) any = true;
    if (any) {
      idle_since = 0;
      continue;
    }
    for (int i = 0; i < PAUSES; i++) weir__pause();
    if (weir__core_count() <= FEW_CORES) sched_yield(); // to who is waited for
    if (weir__cuda_is_busy(device) || rounds % PAUSES_PER_CLOCK != 0) continue;
    if (atomic_load_explicit(&device->stopping, memory_order_acquire)) {
      weir__cuda_stop_paths(device);
      return NULL;
    }
    if (weir__cuda_rest(device)) continue;
    uint64_t now = weir__clock_ns();
    if (idle_since == 0) idle_since = now;
    uint64_t nap_ns;
    if (now - idle_since < device->spin_ns || !must_sleep(device, &nap_ns)) continue;
    weir__sleep_on(&device->sleeping, 1, nap_ns);
    atomic_store_explicit(&device->sleeping, 0, memory_order_relaxed);
    weir__cuda_launchers_wake(device); // they will be needed soon
    idle_since = 0;
  }
}

weir_status weir__cuda_thread_start(weir__cuda_device *device) {
  if (!weir__allocate_permit() || pthread_create(&device->thread, NULL, thread_main, device) != 0)
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cuda: no thread");
  weir_status status = weir__cuda_await_thread(&device->thread_state, device->thread);
  device->has_thread = status == WEIR_OK;
  device->base.thread = &device->thread;
  return status;
}

void weir__cuda_thread_stop(weir__cuda_device *device) {
  if (!device->has_thread) return;
  atomic_store_explicit(&device->stopping, true, memory_order_seq_cst);
  atomic_thread_fence(memory_order_seq_cst);
  weir__cuda_rouse(&device->base);
  pthread_join(device->thread, NULL);
  device->has_thread = false;
}
