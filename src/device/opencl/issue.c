// SPDX-License-Identifier: Apache-2.0
//
// Queue issue: each task goes to a command queue, with the events of predecessors that the queue's order does not imply.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "device/graph.h"
#include "device/opencl/fence.h"
#include "device/opencl/image.h"
#include "device/opencl/opencl.h"

static uint64_t slot_of(const weir__opencl_device *device, weir__id id) {
  return id & device->base.host->window.live.mask;
}

weir__opencl_op *weir__opencl_find(const weir__opencl_device *device, weir__id id) {
  const weir__host *host = device->base.host;
  weir__opencl_op *op = device->slot_ops[slot_of(device, id)];
  return op != NULL && weir__window_task(&host->window, id)->id == id ? op : NULL;
}

bool weir__opencl_reserve_places(weir__opencl_device *device, uint32_t count) {
  if (count <= device->place_capacity) return true;
  weir__queue_task **larger = weir__allocate(2 * (size_t)count * sizeof(weir__queue_task *));
  if (larger == NULL) return false;
  if (device->place_capacity > 0) memcpy(larger, device->places, device->place_capacity * sizeof(weir__queue_task *));
  weir__free(device->places);
  device->places = larger;
  device->place_capacity = 2 * count;
  return true;
}

static weir__opencl_op *new_op(weir__opencl_device *device) {
  weir__opencl_op *op = device->free_ops;
  if (op != NULL)
    device->free_ops = op->next;
  else
    op = weir__allocate(sizeof *op);
  if (op == NULL) return NULL;
  op->next = NULL;
  op->place = NULL;
  op->event = NULL;
  op->nodes = NULL;
  op->task = NULL;
  op->rings = false;
  op->start_ns = op->end_ns = 0;
  op->status = WEIR_OK;
  op->message[0] = '\0';
  return op;
}

void weir__opencl_flush_queue(weir__opencl_device *device, weir__opencl_queue *queue) {
  if (!queue->unflushed) return;
  queue->unflushed = false;
  cl_int result = device->driver->clFlush(queue->queue);
  if (result != CL_SUCCESS) device->trouble = result;
}

void weir__opencl_flush(weir__opencl_device *device) {
  for (uint32_t i = 0; i < device->queue_count; i++) weir__opencl_flush_queue(device, &device->queues_in_flight[i]);
}

cl_int weir__opencl_enqueue_kernel(weir__opencl_device *device, const weir__opencl_kernel *kernel,
                                   const uint32_t groups[3], const weir__opencl_argument *arguments, uint32_t count,
                                   cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event) {
  const weir__opencl_driver *driver = device->driver;
  cl_kernel code = kernel->kernels[device->base.index];
  cl_int result = CL_SUCCESS;
  if (kernel->value.bytes > 0) {
    arguments = &kernel->value;
    count = 1;
  }
  for (uint32_t i = 0; i < count && result == CL_SUCCESS; i++) {
    const weir__opencl_argument *argument = &arguments[i];
    uint32_t at = weir__opencl_place(kernel, i);
    if (argument->bytes > 0)
      result = driver->clSetKernelArg(code, at, (size_t)argument->bytes, argument->value);
    else if (weir__opencl_has_objects(device))
      result = weir__opencl_set_object(device, code, at, argument);
    else
      result = driver->clSetKernelArgSVMPointer(code, at, argument->value);
  }
  for (uint32_t i = 0; i < kernel->local_count && result == CL_SUCCESS; i++)
    result = driver->clSetKernelArg(code, weir__opencl_place(kernel, count) + i, (size_t)kernel->local_bytes[i], NULL);
  if (result == CL_SUCCESS && kernel->sampler_count > 0)
    result = weir__opencl_set_samplers(device, kernel, code, arguments);
  if (result != CL_SUCCESS) return result;
  const uint32_t *counts = kernel->groups[0] == 0 ? groups : kernel->groups;
  size_t global[3];
  for (int i = 0; i < 3; i++) global[i] = kernel->local[i] * counts[i];
  result = driver->clEnqueueNDRangeKernel(queue, code, 3, NULL, global, kernel->local, waits->count,
                                          waits->count > 0 ? waits->events : NULL, out_event);
  if (result == CL_SUCCESS) waits->count = 0;
  return result;
}

cl_int weir__opencl_enqueue_copy(weir__opencl_device *device, void *to, const void *from, uint64_t bytes,
                                 cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event) {
  cl_int result = weir__opencl_has_objects(device)
                      ? weir__opencl_copy_objects(device, to, from, bytes, queue, waits, out_event)
                      : device->driver->clEnqueueSVMMemcpy(queue, CL_FALSE, to, from, (size_t)bytes, waits->count,
                                                           waits->count > 0 ? waits->events : NULL, out_event);
  if (result == CL_SUCCESS) waits->count = 0;
  return result;
}

cl_int weir__opencl_enqueue_fill(weir__opencl_device *device, void *to, uint32_t pattern, uint64_t bytes,
                                 cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event) {
  cl_int result =
      weir__opencl_has_objects(device)
          ? weir__opencl_fill_object(device, to, pattern, bytes, queue, waits, out_event)
          : device->driver->clEnqueueSVMMemFill(queue, to, &pattern, sizeof pattern, (size_t)bytes, waits->count,
                                                waits->count > 0 ? waits->events : NULL, out_event);
  if (result == CL_SUCCESS) waits->count = 0;
  return result;
}

static cl_int launch_task(weir__opencl_device *device, weir__opencl_op *op, cl_command_queue queue,
                          weir__opencl_waits *waits) {
  const weir__task *task = op->task;
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
                                     &op->event);
}

static cl_int launch(weir__opencl_device *device, weir__opencl_op *op, weir__opencl_waits *waits) {
  const weir__task *task = op->task;
  cl_command_queue queue = device->queues_in_flight[op->place->queue].queue;
  if (task->run != NULL) return weir__opencl_launch_run(device, op, waits);
  if (task->fence != NULL) {
    weir__opencl_end_fence(op);
    return CL_SUCCESS;
  }
  if (task->move == NULL) return launch_task(device, op, queue, waits);
  const weir__move *move = task->move;
  if (move->fill)
    return weir__opencl_enqueue_fill(device, move->destination, move->pattern, move->bytes, queue, waits, &op->event);
  return weir__opencl_enqueue_copy(device, move->destination, move->source, move->bytes, queue, waits, &op->event);
}

// A task that will not run: who reads what it should have written must know before they are launched.
static void doom(weir__opencl_device *device, const weir__opencl_op *op) {
  weir__host *host = device->base.host;
  weir__host_lock(host);
  weir__window_doom(&host->window, op->task);
  weir__host_unlock(host);
}

static void refuse(weir__opencl_device *device, weir__opencl_op *op, cl_int result) {
  char text[64];
  op->status = weir__opencl_status(result);
  snprintf(op->message, sizeof op->message, "launch: %s", weir__opencl_result_text(result, text, sizeof text));
  doom(device, op);
}

// In place of a task that is not launched, or whose last command has no event: something that comes after all that the task
// comes after. An order that no event can stand for is kept by waiting.
static void mark(weir__opencl_device *device, weir__opencl_op *op, const weir__opencl_waits *waits) {
  if (op->event != NULL) return;
  cl_command_queue queue = device->queues_in_flight[op->place->queue].queue;
  cl_int result = device->driver->clEnqueueMarkerWithWaitList(queue, waits->count,
                                                              waits->count > 0 ? waits->events : NULL, &op->event);
  if (result == CL_SUCCESS) return;
  op->event = NULL;
  weir__opencl_flush(device);
  result = device->driver->clFinish(queue);
  if (result == CL_SUCCESS && waits->count > 0) result = device->driver->clWaitForEvents(waits->count, waits->events);
  if (result != CL_SUCCESS) device->trouble = result;
}

// Events of other queues are only waited for once these are flushed.
static void collect_waits(weir__opencl_device *device, const weir__queue_choice *choice,
                          weir__opencl_waits *out_waits) {
  out_waits->count = 0;
  for (uint32_t i = 0; i < choice->record_count; i++) choice->records[i]->recorded = true;
  for (uint32_t i = 0; i < choice->wait_count; i++) {
    const weir__opencl_op *before = choice->waits[i]->user;
    if (before->event == NULL) continue;
    weir__opencl_flush_queue(device, &device->queues_in_flight[choice->waits[i]->queue]);
    out_waits->events[out_waits->count++] = before->event;
  }
}

static bool place(weir__opencl_device *device, weir__opencl_op *op, weir__opencl_waits *out_waits) {
  const weir__task *task = op->task;
  uint32_t count = 0;
  if (!weir__opencl_reserve_places(device, task->predecessor_count + 1)) return false;
  for (uint32_t i = 0; i < task->predecessor_count; i++) {
    const weir__opencl_op *before = weir__opencl_find(device, task->predecessors[i]);
    if (before != NULL) device->places[count++] = before->place;
  }
  uint32_t wanted = task->run != NULL ? task->run->queue : WEIR__ANY_QUEUE;
  weir__queue_choice choice = weir__queues_issue(device->queues, device->places, count, wanted);
  if (choice.task == NULL) return false;
  op->place = choice.task;
  choice.task->user = op;
  choice.task->recorded = true;
  collect_waits(device, &choice, out_waits);
  return true;
}

static void start(weir__opencl_device *device, weir__opencl_op *op, weir__opencl_waits *waits) {
  weir__opencl_queue *queue = &device->queues_in_flight[op->place->queue];
  if (device->lost == WEIR_OK) {
    cl_int result = op->status == WEIR_OK ? launch(device, op, waits) : CL_SUCCESS;
    if (result != CL_SUCCESS) refuse(device, op, result);
    mark(device, op, waits);
    queue->unflushed = true;
  }
  if (queue->last == NULL)
    queue->first = op;
  else
    queue->last->next = op;
  queue->last = op;
  device->ops_in_flight++;
  device->slot_ops[slot_of(device, op->task->id)] = op;
}

void weir__opencl_issue(weir__opencl_device *device, weir__task *task) {
  if (device->ops_in_flight == 0 && device->base.host->trace != NULL) weir__opencl_set_clock(device);
  weir__opencl_op *op = new_op(device);
  weir__opencl_waits waits;
  if (op != NULL) op->task = task;
  if (op != NULL) op->awaited = task->event != NULL;
  if (op == NULL || !place(device, op, &waits)) {
    weir__opencl_fail_now(device, task);
    if (op == NULL) return;
    op->next = device->free_ops;
    device->free_ops = op;
    return;
  }
  op->status = device->lost != WEIR_OK ? device->lost : weir__host_skip_status(device->base.host, task);
  if (device->lost != WEIR_OK) memcpy(op->message, device->lost_text, sizeof op->message);
  bool back = task->move != NULL && task->move->write_back; // one that is skipped has lost nothing
  if (op->status != WEIR_OK && device->lost == WEIR_OK && !back) doom(device, op);
  start(device, op, &waits);
  bool skipped_nodes = task->run != NULL && atomic_load_explicit(&task->run->failed_count, memory_order_relaxed) > 0;
  // Who reads what a skipped node should have written must know before it is launched.
  if (skipped_nodes) weir__opencl_drain(device);
}
