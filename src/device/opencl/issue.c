// SPDX-License-Identifier: Apache-2.0
//
// Queue issue: each task goes to a command queue, with the events of predecessors that the queue's order does not imply.
#include "device/opencl/enqueue.h"
#include "device/opencl/fence.h"
#include "device/opencl/open_task.h"
#include "device/opencl/opencl.h"

static cl_int launch_task(weir__opencl_device *device, weir__opencl_operation *operation, cl_command_queue queue,
                          weir__opencl_waits *waits) {
  const weir__task *task = operation->head.task;
  weir__opencl_argument arguments[WEIR_MAX_ARGS];
  const weir__access *access = task->accesses;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    arguments[i] = (weir__opencl_argument){.value = task->args[i]};
    if (weir__task_is_value(task, i)) {
      arguments[i].bytes = weir__task_value_bytes(task, i);
    } else {
      arguments[i].range = access->hi - access->lo;
      access++;
    }
  }
  return weir__opencl_enqueue_kernel(device, task->code, task->groups, arguments, task->arg_count, queue, waits,
                                     &operation->event);
}

// A task whose code is an enqueue function.
static void call_task(weir__opencl_device *device, weir__opencl_operation *operation, weir__opencl_waits *waits) {
  weir__operation *head = &operation->head;
  weir__enqueue *enqueue = ((const weir__opencl_kernel *)head->task->code)->head.enqueue;
  weir__enqueue_call call;
  if (!weir__enqueue_begin(&call, enqueue, &device->base.device, head->task)) {
    weir__in_order_refuse(&device->base, head, WEIR_ERROR_OUT_OF_MEMORY, "launch", "no memory for its arguments");
    return;
  }
  weir_status status = weir__opencl_call(device, &call, enqueue, head->place->queue, waits, &operation->start);
  if (status != WEIR_OK) weir__in_order_refuse(&device->base, head, status, "launch", call.text);
  weir__enqueue_end(&call);
}

static cl_int launch(weir__opencl_device *device, weir__opencl_operation *operation, weir__opencl_waits *waits) {
  const weir__task *task = operation->head.task;
  cl_command_queue queue = device->queues[operation->head.place->queue].queue;
  if (task->run != NULL) return weir__opencl_launch_run(device, operation, waits);
  if (weir__task_fence(task) != NULL) {
    weir__opencl_end_fence(&operation->head);
    return CL_SUCCESS;
  }
  if (task->move == NULL && ((const weir__opencl_kernel *)task->code)->head.enqueue != NULL) {
    call_task(device, operation, waits);
    return CL_SUCCESS;
  }
  if (task->move == NULL) return launch_task(device, operation, queue, waits);
  const weir__move *move = task->move;
  if (move->fill)
    return weir__opencl_enqueue_fill(device, move->destination, move->pattern, move->bytes, queue, waits,
                                     &operation->event);
  return weir__opencl_enqueue_copy(device, move->destination, move->source, move->bytes, queue, waits,
                                   &operation->event);
}

// In place of a task that is not launched, or whose last command has no event: something that comes after all that the task
// comes after. An order for which there is no event is kept by waiting.
static void mark(weir__opencl_device *device, weir__opencl_operation *operation, const weir__opencl_waits *waits) {
  if (operation->event != NULL) return;
  uint32_t queue = operation->head.place->queue;
  if (weir__opencl_enqueue_marker(device, queue, waits, &operation->event) == CL_SUCCESS) return;
  operation->event = NULL;
  weir__opencl_flush(device);
  weir__opencl_finish_queue(device, queue);
  cl_int result = waits->count > 0 ? device->driver->clWaitForEvents(waits->count, waits->events) : CL_SUCCESS;
  if (result == CL_SUCCESS) return;
  device->unseen = true;
  weir__opencl_trouble(device, result);
}

// Events of other queues are only waited for once these are flushed.
static void collect_waits(weir__opencl_device *device, const weir__queue_choice *choice,
                          weir__opencl_waits *out_waits) {
  out_waits->count = 0;
  for (uint32_t i = 0; i < choice->record_count; i++) choice->records[i]->recorded = true;
  for (uint32_t i = 0; i < choice->wait_count; i++) {
    const weir__opencl_operation *before = choice->waits[i]->user;
    if (before->event == NULL) continue;
    weir__opencl_flush_queue(device, choice->waits[i]->queue);
    out_waits->events[out_waits->count++] = before->event;
  }
}

static bool place(weir__opencl_device *device, weir__opencl_operation *operation, uint32_t count,
                  weir__queue_choice *out_choice) {
  weir__in_order_device *base = &device->base;
  const weir__task *task = operation->head.task;
  if (weir__task_open(task) != NULL) return weir__opencl_place_open(device, operation, count, out_choice);
  uint32_t wanted = task->run != NULL ? task->run->queue : WEIR__ANY_QUEUE;
  *out_choice = weir__queues_issue(base->queues, base->operations.places, count, wanted);
  return out_choice->task != NULL;
}

bool weir__opencl_enqueue(weir__in_order_device *base, weir__operation *head, uint32_t count) {
  weir__opencl_device *device = weir__opencl_of_in_order(base);
  weir__opencl_operation *operation = weir__opencl_operation_of(head);
  const weir__task *task = head->task;
  operation->event = operation->start = NULL;
  operation->nodes = NULL;
  operation->has_callback = false;
  operation->awaited = task->event != NULL;
  operation->start_ns = operation->end_ns = 0;
  if (base->operation_count == 0 && base->device.host->trace != NULL) weir__opencl_set_clock(device);
  weir__queue_choice choice;
  if (!place(device, operation, count, &choice)) return false;
  head->place = choice.task;
  choice.task->user = operation;
  choice.task->recorded = true;
  bool is_there = weir__task_open(task) != NULL && weir__task_open(task)->begun; // the caller has put it there
  // A device in trouble may have no event for what the task comes after.
  if (weir__in_order_is_well(base) && !is_there) {
    weir__opencl_waits waits;
    collect_waits(device, &choice, &waits);
    cl_int result = head->status == WEIR_OK ? launch(device, operation, &waits) : CL_SUCCESS;
    char text[64];
    if (result != CL_SUCCESS)
      weir__in_order_refuse(base, head, weir__opencl_status(result), "launch",
                            weir__opencl_result_text(result, text, sizeof text));
    mark(device, operation, &waits);
    device->queues[head->place->queue].unflushed = true;
  }
  weir__in_order_append(base, head);
  // Tasks that read a skipped node's outputs must learn of it before they are launched.
  if (task->run != NULL && atomic_load_explicit(&task->run->failed_count, memory_order_relaxed) > 0)
    weir__in_order_drain(base);
  return true;
}
