// SPDX-License-Identifier: Apache-2.0
//
// From queues back to tasks: what is done is noticed by events, for as many tasks at once as possible, and reported.
#include <string.h>

#include "device/cuda/cuda_device.h"
#include "device/cuda/resident/resident.h"
#include "device/cuda/share.h"

static uint64_t at_least(uint64_t ns, uint64_t least) {
  return ns < least ? least : ns;
}

weir__completion weir__cuda_completion_of(weir__cuda_device *device, const weir__cuda_op *op, uint64_t *out_submit_ns) {
  weir__completion completion = {.status = op->status,
                                 .message = op->message,
                                 .lane = op->place->queue,
                                 .start_ns = weir__cuda_event_ns(device, op->start),
                                 .end_ns = weir__cuda_event_ns(device, op->end)};
  *out_submit_ns = 0;
  if (device->base.host->trace == NULL) return completion;
  const weir__trace_task *record = weir__trace_find(device->base.host->trace, op->task->id);
  uint64_t submit_ns = record != NULL ? record->submit_ns : 0;
  if (device->resident != NULL) submit_ns = at_least(weir__resident_slot_of(device, op->task->id)->since_ns, submit_ns);
  completion.start_ns = at_least(completion.start_ns, submit_ns);
  completion.end_ns = at_least(completion.end_ns, completion.start_ns);
  *out_submit_ns = submit_ns;
  return completion;
}

void weir__cuda_complete(weir__cuda_device *device, weir__task *task, const weir__completion *completion) {
  device->slot_ops[task->id & device->slot_mask] = NULL;
  if (device->resident != NULL) weir__resident_settled(device, task->id);
  weir__host_complete(device->base.host, task, completion);
}

// Takes an op out of the books, which its queue has done already. The lock is held.
static void report(weir__cuda_device *device, weir__cuda_op *op) {
  op->ops->report(device, op);
  if (op->event != NULL) weir__cuda_give_event(device, op->event);
  if (op->start != NULL) device->driver->cuEventDestroy(op->start);
  if (op->end != NULL) device->driver->cuEventDestroy(op->end);
  weir__queues_done(device->queues, op->place);
  weir__cuda_free_op(device, op);
  device->ops_in_flight--;
}

// The last op of the queue that is known to be done; NULL: none.
static weir__cuda_op *last_done(weir__cuda_device *device, const weir__cuda_queue *queue) {
  weir__cuda_op *done = NULL;
  uint64_t issued = atomic_load_explicit(&queue->issued, memory_order_acquire);
  for (weir__cuda_op *op = queue->first; op != NULL && op->number <= issued; op = op->next) {
    if (op->finished) done = op;
    if (op->event == NULL || op->finished) continue;
    CUresult result = device->driver->cuEventQuery(op->event);
    if (result == CUDA_ERROR_NOT_READY) break;
    if (result != CUDA_SUCCESS && !weir__cuda_is_sticky(result))
      result = device->driver->cuStreamSynchronize(queue->stream); // the only other way to know
    if (result != CUDA_SUCCESS) {
      weir__cuda_trouble(device, result);
      return NULL;
    }
    done = op;
  }
  return done;
}

static void report_up_to(weir__cuda_device *device, weir__cuda_queue *queue, const weir__cuda_op *last) {
  weir__host *host = device->base.host;
  for (const weir__cuda_op *op = queue->first; op != last->next; op = op->next) {
    if (op->ops->finish != NULL && op->status == WEIR_OK) op->ops->finish(device, op);
  }
  weir__host_lock(host);
  bool more = true;
  while (more) {
    weir__cuda_op *op = queue->first;
    more = op != last;
    queue->first = op->next;
    if (queue->first == NULL) queue->last = NULL;
    report(device, op);
  }
  weir__host_completed(host);
  weir__host_unlock(host);
}

static bool poll_queue(weir__cuda_device *device, weir__cuda_queue *queue) {
  if (queue->first == NULL) return false;
  const weir__cuda_op *done = last_done(device, queue);
  if (done == NULL) return false;
  report_up_to(device, queue, done);
  return true;
}

bool weir__cuda_poll_queues(weir__cuda_device *device, bool all) {
  bool any = false;
  for (uint32_t i = 0; i < (all ? device->queue_count : 1); i++) {
    any = poll_queue(device, &device->queues_in_flight[device->next_polled]) || any;
    device->next_polled = (device->next_polled + 1) % device->queue_count;
  }
  return any;
}

void weir__cuda_mark_tails(weir__cuda_device *device) {
  for (uint32_t i = 0; i < device->queue_count; i++) {
    weir__cuda_op *last = device->queues_in_flight[i].last;
    if (last == NULL || last->event != NULL) continue;
    CUresult result = weir__cuda_record(device, last);
    if (result != CUDA_SUCCESS && !weir__cuda_is_sticky(result)) { // without an event: wait
      result = device->driver->cuStreamSynchronize(device->queues_in_flight[i].stream);
      if (result == CUDA_SUCCESS) report_up_to(device, &device->queues_in_flight[i], last);
    }
    if (result != CUDA_SUCCESS) weir__cuda_trouble(device, result);
  }
}

// Everything that is in flight fails, in the order of the queues.
bool weir__cuda_fail_queues(weir__cuda_device *device) {
  if (device->ops_in_flight == 0) return false;
  // Nothing runs on a device that is dead; one that was given up for another reason must come to its end.
  for (uint32_t i = 0; i < device->queue_count; i++) {
    weir__cuda_settle(&device->queues_in_flight[i]);
    device->driver->cuStreamSynchronize(device->queues_in_flight[i].stream);
  }
  for (uint32_t i = 0; i < device->queue_count; i++) {
    weir__cuda_queue *queue = &device->queues_in_flight[i];
    for (weir__cuda_op *op = queue->first; op != NULL; op = op->next) {
      if (op->status != WEIR_OK) continue;
      op->status = device->lost;
      memcpy(op->message, device->lost_text, sizeof op->message);
    }
    if (queue->first != NULL) report_up_to(device, queue, queue->last);
  }
  return true;
}

void weir__cuda_drain(weir__cuda_device *device) {
  while (device->ops_in_flight > 0 && weir__cuda_is_well(device)) {
    weir__cuda_mark_tails(device);
    weir__cuda_poll(device, true);
  }
  weir__cuda_report_lost(device);
}

// What a stream of the caller's must do before the tasks that come after this one.
static void wait_for_fence(weir__cuda_device *device, const weir__task *task) {
  weir__cuda_fence *fence = (weir__cuda_fence *)task->fence;
  if (fence == NULL) return;
  CUresult result = device->driver->cuEventSynchronize(fence->event);
  if (weir__cuda_is_sticky(result)) weir__cuda_trouble(device, result);
  weir__cuda_fence_destroy(device, fence);
}

void weir__cuda_fail_now(weir__cuda_device *device, weir__task *task) {
  weir__cuda_drain(device);
  wait_for_fence(device, task);
  weir__host_fail_unissued(device->base.host, task, device->lost, device->lost_text);
}
