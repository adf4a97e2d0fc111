// SPDX-License-Identifier: Apache-2.0
//
// Rounds of the device's thread: takes tasks, launches them, notices what is done.
#include <sched.h>

#include "base/clock.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/resident/resident.h"
#include "device/cuda/share.h"

enum {
  TASKS_AT_ONCE = 16,
  TASKS_BETWEEN_REPORTS = 96,
  BETWEEN_LOOKS_NS = 4000, // for tasks, while the resident kernel has SOME_TASKS
  SOME_TASKS = 4,
  LINE = 64,           // bytes of a cache line
  FEW_ARGUMENTS = 256, // bytes
  PAUSES = 8,
  ROUNDS_PER_CLOCK = 64,
  FEW_CORES = 2,
  ROUNDS_PER_LOOK = 16,  // at launchers
  IMPORT_NAP_NS = 20000, // between looks at events of the caller's
};

static CUresult let_wait(weir__cuda_device *device, CUstream stream, weir__cuda_op *op) {
  CUresult result = weir__cuda_record(device, op);
  if (result == CUDA_SUCCESS && op->finished) return result; // its event could not be recorded
  return result == CUDA_SUCCESS ? device->driver->cuStreamWaitEvent(stream, op->event, CU_EVENT_WAIT_DEFAULT) : result;
}

// The op of a task, or, where no event can stand for it alone any more, the last of its queue.
static CUresult answer_for_task(weir__cuda_device *device, CUstream stream, weir__id task) {
  weir__operation *operation = weir__in_order_find(&device->base, task);
  if (operation == NULL) return CUDA_SUCCESS;
  bool has_event = weir__cuda_op_of(operation)->event != NULL;
  weir__operation *last = device->base.in_flight[operation->place->queue].last;
  return let_wait(device, stream, weir__cuda_op_of(has_event ? operation : last));
}

void weir__cuda_answer(void *user, weir__device_request *head) {
  weir__cuda_device *device = user;
  weir__cuda_request *request = (weir__cuda_request *)(void *)head;
  CUresult result = CUDA_SUCCESS;
  if (device->base.lost == WEIR_OK && request->tasks != NULL) {
    for (uint32_t i = 0; i < request->task_count && result == CUDA_SUCCESS; i++)
      result = answer_for_task(device, request->stream, request->tasks[i]);
  } else if (device->base.lost == WEIR_OK) {
    for (uint32_t i = 0; i < device->base.queue_count && result == CUDA_SUCCESS; i++) {
      weir__operation *last = device->base.in_flight[i].last;
      if (last != NULL) result = let_wait(device, request->stream, weir__cuda_op_of(last));
    }
  }
  request->result = result;
}

// Another core has just written the task: all that will be read of it is asked for at once. Its first line is that core's.
static void prefetch(const weir__task *task) {
  const char *first = (const char *)&task->id, *end = (const char *)task->payload + FEW_ARGUMENTS;
  for (const char *line = first; line < end; line += LINE) __builtin_prefetch(line);
}

// Takes some tasks. Returns whether there were any.
static bool take_tasks(weir__cuda_device *device) {
  weir__inbox *inbox = &device->base.inbox;
  uint64_t count = weir__inbox_count(inbox);
  if (count > TASKS_AT_ONCE) count = TASKS_AT_ONCE;
  for (uint64_t i = 0; i < count; i++) prefetch(weir__inbox_peek(inbox, i));
  void (*take)(weir__cuda_device *, weir__task *) = device->paths[0]->take;
  for (uint64_t i = 0; i < count; i++) take(device, weir__inbox_take(inbox));
  device->is_behind = count == TASKS_AT_ONCE;
  if (count > 0) device->base.taken_ns = weir__clock_ns();
  return count > 0;
}

// Whether the thread leaves tasks in the inbox for a while. Each look there takes lines of the cache from who submits: that
// of their number, those of tasks, and those of the tasks to come, which processors fetch behind them. So, while the
// resident kernel has some tasks and nobody waits, the thread looks seldom, and takes many tasks at once.
static bool looks_later(weir__cuda_device *device) {
  const weir__in_order_device *base = &device->base;
  const weir__resident *resident = device->resident;
  return !device->is_behind && weir__clock_ns() - base->taken_ns < BETWEEN_LOOKS_NS && weir__may_spin() &&
         !weir__host_is_awaited(base->device.host) && !weir__requests_any(&base->requests) &&
         !weir__inbox_is_stopping(&base->inbox) && resident != NULL &&
         resident->in_flight + resident->deferred >= SOME_TASKS;
}

// Whoever waits wants what is stalled; what was pushed before the wait began is launched with it. Returns the requests
// that can be answered now: those that were there before the inbox was found empty.
static weir__device_request *launch_what_is_wanted(weir__cuda_device *device) {
  weir__device_requests *all = &device->base.requests;
  bool asked = weir__requests_any(all);
  weir__device_request *requests = asked && !weir__cuda_bars_streams(device) ? weir__requests_take(all) : NULL;
  bool wanted = weir__inbox_take_flush(&device->base.inbox) || asked;
  while (wanted && take_tasks(device)) {
  }
  weir__cuda_flush(device, wanted);
  return requests;
}

static bool work(weir__in_order_device *base) {
  weir__cuda_device *device = weir__cuda_of_in_order(base);
  if (base->slept) weir__cuda_launchers_wake(device); // they will be needed soon
  base->slept = false;
  bool later = looks_later(device), any = !later && take_tasks(device);
  if (!later) weir__cuda_begin_round(device, any);
  weir__device_request *requests = any || later ? NULL : launch_what_is_wanted(device);
  if (weir__requests_answer(device, requests)) any = true;
  // While tasks come in, what is done is reported now and then only: it takes the lock from who submits them.
  bool polls = !any || base->inbox.taken - device->last_poll >= TASKS_BETWEEN_REPORTS;
  if (polls) device->last_poll = base->inbox.taken;
  if (weir__in_order_is_well(base) ? polls && weir__cuda_poll(device, !any) : weir__cuda_fail_all(device)) any = true;
  if (weir__cuda_go_on(device)) any = true;
  if (weir__in_order_serve_fences(base)) any = true;
  if (any) return true;
  if (++device->idle_rounds % ROUNDS_PER_LOOK == 0 && weir__cuda_launchers_help(device, &device->looks)) return true;
  if (weir__core_count() <= FEW_CORES) sched_yield(); // to who is waited for
  return !later && !weir__cuda_is_busy(device) && weir__cuda_rest(device);
}

static bool begin(weir__in_order_device *base) {
  const weir__cuda_device *device = weir__cuda_of_in_order(base);
  weir__cuda_relax_thread(device);
  return device->driver->cuCtxSetCurrent(device->primary) == CUDA_SUCCESS;
}

static bool is_busy(weir__in_order_device *base) {
  return weir__cuda_is_busy(weir__cuda_of_in_order(base));
}

static bool may_sleep(weir__in_order_device *base, uint64_t *out_ns) {
  if (weir__fences_any(&base->fences)) *out_ns = IMPORT_NAP_NS;
  return !weir__requests_any(&base->requests);
}

static void end(weir__in_order_device *base) {
  weir__cuda_stop(weir__cuda_of_in_order(base));
}

const weir__in_order_table weir__cuda_table = {.operation_bytes = sizeof(weir__cuda_op),
                                               .pauses = PAUSES,
                                               .rounds_per_clock = ROUNDS_PER_CLOCK,
                                               .begin = begin,
                                               .work = work,
                                               .rest = is_busy,
                                               .may_sleep = may_sleep,
                                               .end = end,
                                               .enqueue = weir__cuda_enqueue,
                                               .last_done = weir__cuda_last_done,
                                               .finish = weir__cuda_finish,
                                               .report = weir__cuda_report,
                                               .await = weir__cuda_await,
                                               .lose = weir__cuda_lose,
                                               .drain = weir__cuda_drain_all,
                                               .fence_is_over = weir__cuda_fence_is_over,
                                               .fence_destroy = weir__cuda_end_fence};
