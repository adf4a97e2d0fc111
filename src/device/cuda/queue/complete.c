// SPDX-License-Identifier: Apache-2.0
//
// From queues back to tasks: what is done is noticed by events, for as many tasks at once as possible.
#include <stdio.h>

#include "device/cuda/cuda_device.h"
#include "device/cuda/queue/open.h"
#include "device/cuda/resident/resident.h"
#include "device/cuda/share.h"

void weir__cuda_finish(weir__in_order_device *base, weir__operation *operation) {
  const weir__cuda_op *op = weir__cuda_op_of(operation);
  if (op->ops->finish != NULL && operation->status == WEIR_OK) op->ops->finish(weir__cuda_of_in_order(base), op);
}

// What the task put on its queue has ended, and perhaps not well.
static void judge(const weir__task *task, weir__completion *completion) {
  const weir__cuda_kernel *kernel = task->code;
  if (completion->status == WEIR_OK)
    completion->status = kernel->head.enqueue->verdict(task->user, &completion->message);
}

void weir__cuda_report(weir__in_order_device *base, weir__operation *operation, weir__completion *completion) {
  weir__cuda_device *device = weir__cuda_of_in_order(base);
  weir__cuda_op *op = weir__cuda_op_of(operation);
  const weir__task *task = operation->task;
  if (completion != NULL && task->kind == WEIR__TASK_OPEN) {
    weir__cuda_report_open(device, op, completion);
  } else if (completion != NULL && base->device.host->trace != NULL) {
    uint64_t start_ns = weir__cuda_event_ns(device, op->start), least_ns = 0;
    if (device->resident != NULL) least_ns = weir__resident_slot_of(device, task->id)->since_ns;
    weir__in_order_set_times(base, task, start_ns < least_ns ? least_ns : start_ns,
                             weir__cuda_event_ns(device, op->end), completion);
    if (operation->place->queue >= device->queue_count) completion->lane += WEIR__CUDA_GRAPH_LANES;
  }
  if (completion != NULL && op->judged) judge(task, completion);
  if (completion != NULL && device->resident != NULL) weir__resident_ended(device, task->id);
  if (op->ops->report != NULL) op->ops->report(device, op, completion);
  if (completion != NULL && weir__task_fence(task) != NULL)
    ((weir__cuda_fence *)weir__task_fence(task))->reported = true;
  if (op->stalls) weir__cuda_stalls_no_more(device);
  if (op->event != NULL) weir__cuda_give_event(device, op->event);
  if (op->start != NULL) device->driver->cuEventDestroy(op->start);
  if (op->end != NULL) device->driver->cuEventDestroy(op->end);
}

void weir__cuda_end_fence(weir__in_order_device *base, weir__external_fence *head) {
  weir__cuda_device *device = weir__cuda_of_in_order(base);
  weir__cuda_fence *fence = (weir__cuda_fence *)head;
  if (fence->head.task != NULL && fence->event != NULL &&
      !fence->reported) { // there was no memory for its task: nothing that comes after it is launched before its end
    CUresult result = device->driver->cuEventSynchronize(fence->event);
    if (weir__cuda_is_sticky(result)) weir__cuda_trouble(device, result);
  }
  weir__cuda_fence_destroy(device, fence);
}

weir__operation *weir__cuda_last_done(weir__in_order_device *base, uint32_t index) {
  weir__cuda_device *device = weir__cuda_of_in_order(base);
  const weir__cuda_queue *queue = &device->streams[index];
  weir__operation *done = NULL;
  uint64_t issued = atomic_load_explicit(&queue->issued, memory_order_acquire);
  for (weir__operation *at = base->in_flight[index].first; at != NULL; at = at->next) {
    const weir__cuda_op *op = weir__cuda_op_of(at);
    if (op->number > issued) break;
    if (op->finished) done = at;
    if (op->event == NULL || op->finished) continue;
    CUresult result = device->driver->cuEventQuery(op->event);
    if (result == CUDA_ERROR_NOT_READY) break;
    if (result != CUDA_SUCCESS && !weir__cuda_is_sticky(result))
      result = device->driver->cuStreamSynchronize(queue->stream); // the only other way to know
    if (result != CUDA_SUCCESS) {
      weir__cuda_trouble(device, result);
      return NULL;
    }
    done = at;
  }
  return done;
}

// Makes sure that the end of everything in flight will be noticed.
static void mark_tails(weir__cuda_device *device) {
  for (uint32_t i = 0; i < device->base.queue_count; i++) {
    weir__operation *last = device->base.in_flight[i].last;
    if (last == NULL || weir__cuda_op_of(last)->event != NULL) continue;
    CUresult result = weir__cuda_record(device, weir__cuda_op_of(last));
    if (result != CUDA_SUCCESS && !weir__cuda_is_sticky(result)) { // without an event: wait
      result = device->driver->cuStreamSynchronize(device->streams[i].stream);
      if (result == CUDA_SUCCESS) weir__in_order_report_up_to(&device->base, i, last);
    }
    if (result != CUDA_SUCCESS) weir__cuda_trouble(device, result);
  }
}

static bool poll(weir__cuda_device *device, bool all) {
  if (all) mark_tails(device);
  return weir__in_order_poll(&device->base, all);
}

static bool fail_all(weir__cuda_device *device) {
  return weir__in_order_report_lost(&device->base);
}

static bool is_busy(const weir__cuda_device *device) {
  return device->base.operation_count > 0;
}

const weir__cuda_path weir__cuda_queue_path = {
    .take = weir__cuda_issue, .poll = poll, .fail_all = fail_all, .is_busy = is_busy};

void weir__cuda_await(weir__in_order_device *base) {
  weir__cuda_poll(weir__cuda_of_in_order(base), true);
}

void weir__cuda_lose(weir__in_order_device *base, uint32_t trouble, char text[WEIR__MESSAGE_BYTES]) {
  const weir__cuda_device *device = weir__cuda_of_in_order(base);
  char result[160] = "weir_cuda_abort was called";
  bool aborted = device->resident != NULL && weir__resident_is_aborted(device->resident);
  if (!aborted) weir__cuda_result_text(device->driver, (CUresult)trouble, result, sizeof result);
  uint32_t in_flight = base->operation_count + (device->resident != NULL ? device->resident->in_flight : 0);
  snprintf(text, WEIR__MESSAGE_BYTES, "%s (with %u launches in flight)", result, in_flight);
}

// Nothing runs on a device that is dead; one that was given up for another reason must come to its end.
void weir__cuda_drain_all(weir__in_order_device *base) {
  weir__cuda_device *device = weir__cuda_of_in_order(base);
  weir__cuda_stop(device);
  for (uint32_t i = 0; i < base->queue_count; i++) {
    if (device->streams[i].placed == 0) continue; // it may not have been made
    weir__cuda_drain(device, &device->streams[i]);
    device->driver->cuStreamSynchronize(device->streams[i].stream);
  }
}
