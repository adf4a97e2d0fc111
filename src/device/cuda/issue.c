// SPDX-License-Identifier: Apache-2.0
//
// Queue issue: each task goes to a stream, behind events of predecessors that the stream's order does not imply.
#include <stdio.h>
#include <string.h>

#include "api/graph.h"
#include "base/allocate.h"
#include "device/cuda/cuda.h"

enum { OPS_AT_ONCE = 128 };

weir__cuda_op *weir__cuda_new_op(weir__cuda_device *device) {
  if (device->free_ops == NULL) {
    // The first of each slab links the slabs.
    weir__cuda_op *slab = weir__allocate(OPS_AT_ONCE * sizeof *slab);
    if (slab == NULL) return NULL;
    slab->next = device->op_slabs;
    device->op_slabs = slab;
    for (int i = 1; i < OPS_AT_ONCE; i++) weir__cuda_free_op(device, &slab[i]);
  }
  weir__cuda_op *op = device->free_ops;
  device->free_ops = op->next;
  op->next = NULL;
  op->place = NULL;
  op->event = op->start = op->end = op->fence = NULL;
  op->task = NULL;
  op->piece = NULL;
  op->status = WEIR_OK;
  op->message[0] = '\0';
  return op;
}

void weir__cuda_free_op(weir__cuda_device *device, weir__cuda_op *op) {
  op->next = device->free_ops;
  device->free_ops = op;
}

static uint64_t slot_of(const weir__cuda_device *device, weir__id id) {
  return id & device->base.context->window.live.mask;
}

weir__cuda_op *weir__cuda_find(const weir__cuda_device *device, weir__id id) {
  const weir_context *context = device->base.context;
  weir__cuda_op *op = device->slot_ops[slot_of(device, id)];
  return op != NULL && weir__window_task(&context->window, id)->id == id ? op : NULL;
}

bool weir__cuda_reserve_places(weir__cuda_device *device, uint32_t count) {
  if (count <= device->place_capacity) return true;
  weir__queue_task **larger = weir__allocate(2 * (size_t)count * sizeof(weir__queue_task *));
  if (larger == NULL) return false;
  if (device->place_capacity > 0) memcpy(larger, device->places, device->place_capacity * sizeof(weir__queue_task *));
  weir__free(device->places);
  device->places = larger;
  device->place_capacity = 2 * count;
  return true;
}

// Tasks that a queue lets pass unnoticed, until one of them is recorded.
static CUresult order(weir__cuda_device *device, const weir__queue_choice *choice, CUstream stream) {
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < choice->record_count; i++) {
    weir__cuda_op *op = choice->records[i]->user;
    CUresult recorded = weir__cuda_record(device, op);
    if (recorded == CUDA_SUCCESS) continue;
    choice->records[i]->recorded = false;
    result = recorded;
  }
  for (uint32_t i = 0; i < choice->wait_count && result == CUDA_SUCCESS; i++) {
    const weir__cuda_op *op = choice->waits[i]->user;
    result = device->driver->cuStreamWaitEvent(stream, op->event, CU_EVENT_WAIT_DEFAULT);
  }
  return result;
}

bool weir__cuda_place(weir__cuda_device *device, weir__cuda_op *op, weir__queue_task *const *predecessors,
                      uint32_t count, uint32_t wanted) {
  weir__queue_choice choice = weir__queues_issue(device->queues, predecessors, count, wanted);
  if (choice.task == NULL) return false;
  op->place = choice.task;
  choice.task->user = op;
  CUresult result = order(device, &choice, device->queues_in_flight[choice.queue].stream);
  // An order that cannot be kept with events is kept by waiting: the op is not launched before its predecessors are done.
  if (result != CUDA_SUCCESS && !weir__cuda_is_sticky(result)) {
    for (uint32_t i = 0; i < choice.wait_count; i++) {
      const weir__cuda_op *before = choice.waits[i]->user;
      CUresult waited = device->driver->cuStreamSynchronize(device->queues_in_flight[before->place->queue].stream);
      if (weir__cuda_is_sticky(waited)) result = waited;
    }
  }
  if (weir__cuda_is_sticky(result)) weir__cuda_lose(device, result, "ordering its queues");
  return true;
}

void weir__cuda_issued(weir__cuda_device *device, weir__cuda_op *op) {
  weir__cuda_queue *queue = &device->queues_in_flight[op->place->queue];
  op->next = NULL;
  if (queue->last == NULL)
    queue->first = op;
  else
    queue->last->next = op;
  queue->last = op;
  device->ops_in_flight++;
  if (op->task != NULL) device->slot_ops[slot_of(device, op->task->id)] = op;
}

void weir__cuda_refuse(weir__cuda_device *device, weir__cuda_op *op, CUresult result, const char *what) {
  char text[160];
  weir__cuda_result_text(device->driver, result, text, sizeof text);
  op->status = weir__cuda_status(result);
  if (op->status == WEIR_OK || op->status == WEIR_PENDING) op->status = WEIR_ERROR_TASK_FAILED;
  snprintf(op->message, sizeof op->message, "%s: %s", what, text);
  if (weir__cuda_is_sticky(result)) weir__cuda_lose(device, result, what);
}

// The addresses of a task's parameters: of the pointer to a buffer's range, or of a value.
static void fill_parameters(const weir__task *task, void **parameters) {
  for (uint32_t i = 0; i < task->arg_count; i++)
    parameters[i] = weir__task_is_value(task, i) ? task->args[i] : (void *)&task->args[i];
}

CUresult weir__cuda_launch_one(weir__cuda_device *device, const weir__cuda_launch *launch, const uint32_t groups[3],
                               void **parameters, CUstream stream) {
  void *value = launch->value;
  const uint32_t *grid = launch->grid[0] == 0 ? groups : launch->grid;
  return device->driver->cuLaunchKernel(launch->functions[device->base.index], grid[0], grid[1], grid[2],
                                        launch->block[0], launch->block[1], launch->block[2], launch->shared_bytes,
                                        stream, value != NULL ? &value : parameters, NULL);
}

static CUresult launch_kernel(weir__cuda_device *device, const weir__task *task, CUstream stream) {
  const weir__cuda_kernel *kernel = task->kernel->cuda;
  void *parameters[WEIR_MAX_ARGS];
  fill_parameters(task, parameters);
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < kernel->count && result == CUDA_SUCCESS; i++)
    result = weir__cuda_launch_one(device, &kernel->launches[i], task->groups, parameters, stream);
  return result;
}

// Bytes, or nothing but the end of what was in a stream of the caller's.
static CUresult launch_move(weir__cuda_device *device, const weir__move *move, CUstream stream) {
  if (move->fence != NULL)
    return device->driver->cuStreamWaitEvent(stream, (CUevent)move->fence, CU_EVENT_WAIT_DEFAULT);
  return device->driver->cuMemcpyAsync((CUdeviceptr)(uintptr_t)move->destination, (CUdeviceptr)(uintptr_t)move->source,
                                       move->bytes, stream);
}

// Copies from and to the host have queues of their own, so that they overlap kernels.
static uint32_t wanted_queue(const weir__cuda_device *device, const weir__task *task) {
  if (task->move == NULL || task->move->fence != NULL || device->queue_count == 1) return WEIR__ANY_QUEUE;
  if (task->move->source_space == WEIR__HOST_SPACE) return device->queue_count - 2;
  return task->move->destination_space == WEIR__HOST_SPACE ? device->queue_count - 1 : WEIR__ANY_QUEUE;
}

// A task that will not run: who reads what it should have written must know before they are launched.
static void skip(weir__cuda_device *device, weir__cuda_op *op) {
  weir_context *context = device->base.context;
  weir__context_lock(context);
  weir__window_doom(&context->window, op->task);
  weir__context_unlock(context);
}

static void launch(weir__cuda_device *device, weir__cuda_op *op) {
  const weir__task *task = op->task;
  CUstream stream = device->queues_in_flight[op->place->queue].stream;
  CUresult result = CUDA_SUCCESS;
  weir__cuda_mark_start(device, op, stream);
  if (task->run != NULL)
    result = weir__cuda_launch_run(device, op->task, stream);
  else if (task->move != NULL)
    result = launch_move(device, task->move, stream);
  else
    result = launch_kernel(device, task, stream);
  weir__cuda_mark_end(device, op, stream);
  if (result != CUDA_SUCCESS) weir__cuda_refuse(device, op, result, "launch");
}

void weir__cuda_issue(weir__cuda_device *device, weir__task *task) {
  weir__cuda_op *op = weir__cuda_new_op(device);
  bool placed = op != NULL && weir__cuda_reserve_places(device, task->predecessor_count + 1);
  uint32_t count = 0;
  for (uint32_t i = 0; placed && i < task->predecessor_count; i++) {
    const weir__cuda_op *before = weir__cuda_find(device, task->predecessors[i]);
    if (before != NULL) device->places[count++] = before->place;
  }
  placed = placed && weir__cuda_place(device, op, device->places, count, wanted_queue(device, task));
  if (!placed) {
    weir__cuda_fail_now(device, task);
    if (op != NULL) weir__cuda_free_op(device, op);
    return;
  }
  op->task = task;
  if (task->move != NULL) op->fence = (CUevent)task->move->fence;
  op->status = device->lost != WEIR_OK ? device->lost : weir__context_skips(device->base.context, task);
  if (op->status == WEIR_OK) launch(device, op);
  if (op->status != WEIR_OK && device->lost == WEIR_OK) skip(device, op);
  weir__cuda_issued(device, op);
  if (weir__cuda_must_drain(device, task)) weir__cuda_drain(device);
}

void weir__cuda_launch_apart(weir__cuda_device *device, weir__cuda_op *op, weir__task *const *tasks, uint32_t count) {
  CUstream stream = device->queues_in_flight[op->place->queue].stream;
  CUresult result = CUDA_SUCCESS;
  weir__cuda_mark_start(device, op, stream);
  for (uint32_t i = 0; i < count && result == CUDA_SUCCESS; i++) result = launch_kernel(device, tasks[i], stream);
  weir__cuda_mark_end(device, op, stream);
  if (result == CUDA_SUCCESS) return;
  weir__cuda_refuse(device, op, result, "launch");
  weir_context *context = device->base.context;
  weir__context_lock(context);
  for (uint32_t i = 0; i < count; i++) weir__window_doom(&context->window, tasks[i]);
  weir__context_unlock(context);
}
