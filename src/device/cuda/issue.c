// SPDX-License-Identifier: Apache-2.0
//
// Queue issue: each task goes to a stream, behind events of predecessors that the stream's order does not imply.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "device/cuda/batches.h"
#include "device/cuda/cuda.h"
#include "device/cuda/share.h"
#include "device/graph.h"

enum {
  OPS_AT_ONCE = 128,
  LAUNCH_NS = 2500, // guesses, by which kernels are spread over queues
  KERNEL_NS = 4000,
};

static bool add_ops(weir__cuda_device *device) {
  // The first of each slab links the slabs.
  weir__cuda_op *slab = weir__allocate_zeroed(OPS_AT_ONCE * sizeof *slab);
  if (slab == NULL) return false;
  slab->next = device->op_slabs;
  device->op_slabs = slab;
  for (int i = 1; i < OPS_AT_ONCE; i++) weir__cuda_free_op(device, &slab[i]);
  return true;
}

void weir__cuda_make_ops(weir__cuda_device *device, uint32_t count) {
  for (uint32_t made = 0; made < count && add_ops(device); made += OPS_AT_ONCE) {
  }
}

weir__cuda_op *weir__cuda_new_op(weir__cuda_device *device) {
  if (device->free_ops == NULL && !add_ops(device)) return NULL;
  weir__cuda_op *op = device->free_ops;
  device->free_ops = op->next;
  op->next = NULL;
  op->place = NULL;
  op->event = op->start = op->end = NULL;
  op->task = NULL;
  op->batch = NULL;
  op->finished = op->here = false;
  op->done_ns = 0;
  op->wait_count = 0;
  op->status = WEIR_OK;
  op->message[0] = '\0';
  return op;
}

void weir__cuda_free_op(weir__cuda_device *device, weir__cuda_op *op) {
  op->next = device->free_ops;
  device->free_ops = op;
}

static uint64_t slot_of(const weir__cuda_device *device, weir__id id) {
  return id & device->slot_mask;
}

weir__cuda_op *weir__cuda_find(const weir__cuda_device *device, weir__id id) {
  const weir__host *host = device->base.host;
  weir__cuda_op *op = device->slot_ops[slot_of(device, id)];
  return op != NULL && weir__window_task(&host->window, id)->id == id ? op : NULL;
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

void weir__cuda_settle(const weir__cuda_queue *queue) {
  while (!weir__cuda_is_issued(queue, queue->placed)) weir__pause();
}

void weir__cuda_trouble(weir__cuda_device *device, CUresult result) {
  uint32_t none = 0;
  atomic_compare_exchange_strong_explicit(&device->trouble, &none, (uint32_t)result, memory_order_acq_rel,
                                          memory_order_relaxed);
}

// Records the events that the choice asks for. Only ops of queues without launchers come without one.
static bool record(weir__cuda_device *device, const weir__queue_choice *choice) {
  bool good = true;
  for (uint32_t i = 0; i < choice->record_count; i++) {
    weir__cuda_op *op = choice->records[i]->user;
    CUresult result = weir__cuda_record(device, op);
    if (result == CUDA_SUCCESS) continue;
    choice->records[i]->recorded = false;
    if (weir__cuda_is_sticky(result)) weir__cuda_trouble(device, result);
    good = false;
  }
  return good;
}

// An order that cannot be kept with events is kept by waiting: nothing is launched before it is done.
static void wait_for(weir__cuda_device *device, const weir__queue_choice *choice) {
  for (uint32_t i = 0; i < choice->wait_count; i++) {
    const weir__cuda_queue *queue = &device->queues_in_flight[choice->waits[i]->queue];
    weir__cuda_settle(queue);
    CUresult result = device->driver->cuStreamSynchronize(queue->stream);
    if (weir__cuda_is_sticky(result)) weir__cuda_trouble(device, result);
  }
}

bool weir__cuda_place(weir__cuda_device *device, weir__cuda_op *op, weir__queue_task *const *predecessors,
                      uint32_t count, uint32_t wanted) {
  CUevent event = NULL;
  if (device->launcher_count > 0) {
    event = weir__cuda_take_event(device);
    if (event == NULL) return false;
  }
  weir__queue_choice choice = weir__queues_issue(device->queues, predecessors, count, wanted);
  if (choice.task == NULL) {
    if (event != NULL) weir__cuda_give_event(device, event);
    return false;
  }
  op->place = choice.task;
  op->event = event;
  choice.task->user = op;
  choice.task->recorded = event != NULL;
  op->wait_count = 0;
  bool recorded = record(device, &choice);
  if (!recorded || choice.wait_count > WEIR__CUDA_WAITS) {
    wait_for(device, &choice);
    return true;
  }
  for (uint32_t i = 0; i < choice.wait_count; i++) {
    const weir__cuda_op *before = choice.waits[i]->user;
    op->waits[op->wait_count++] =
        (weir__cuda_wait){.event = before->event, .queue = before->place->queue, .number = before->number};
  }
  return true;
}

void weir__cuda_start(weir__cuda_device *device, weir__cuda_op *op) {
  weir__cuda_queue *queue = &device->queues_in_flight[op->place->queue];
  op->number = ++queue->placed;
  op->next = NULL;
  if (queue->last == NULL)
    queue->first = op;
  else
    queue->last->next = op;
  queue->last = op;
  device->ops_in_flight++;
  if (op->task != NULL) device->slot_ops[slot_of(device, op->task->id)] = op;
  bool is_run = op->task != NULL && op->task->run != NULL;
  if (!op->here && device->launcher_count > 0) {
    weir__cuda_launcher_push(device->launchers[is_run ? 0 : op->place->queue % device->launcher_count], op);
    return;
  }
  if (is_run && device->launcher_count > 0)
    weir__cuda_launcher_settle(device->launchers[0]); // it may have the same graph
  weir__cuda_execute(device, op);
}

// A task that will not run: who reads what it should have written must know before they are launched.
static void doom(weir__cuda_device *device, const weir__cuda_op *op) {
  weir__host *host = device->base.host;
  weir__host_lock(host);
  if (op->task != NULL) weir__window_doom(&host->window, op->task);
  if (op->batch != NULL) weir__cuda_batch_mark_failing(device, op->batch, false);
  weir__host_unlock(host);
  atomic_store_explicit(&device->doomed, true, memory_order_relaxed);
}

// Whether the op's task is skipped, so that what it should have written is missing. A copy back that is skipped has lost nothing.
static bool is_missed(const weir__cuda_op *op) {
  return op->status != WEIR_OK && !(op->task->move != NULL && op->task->move->write_back);
}

// A launcher may have refused what the op comes after when that was placed already. Then the op is skipped, too, and passes it
// on, since its end may be noticed before theirs. A run finds out by itself which of its nodes are.
static void look_again(weir__cuda_device *device, weir__cuda_op *op) {
  weir__host *host = device->base.host;
  if (!atomic_load_explicit(&device->doomed, memory_order_relaxed) || op->status != WEIR_OK) return;
  weir__host_lock(host);
  if (op->batch != NULL) {
    weir__cuda_batch_mark_failing(device, op->batch, true);
  } else if (op->task->run == NULL) {
    op->status = weir__host_skip_status(host, op->task);
    if (is_missed(op)) weir__window_doom(&host->window, op->task);
  }
  weir__host_unlock(host);
}

// Nothing can be launched for the op, whose tasks fail with what the result says.
static void refuse(weir__cuda_device *device, weir__cuda_op *op, CUresult result) {
  char text[160];
  weir__cuda_result_text(device->driver, result, text, sizeof text);
  op->status = weir__cuda_status(result);
  if (op->status == WEIR_OK || op->status == WEIR_PENDING) op->status = WEIR_ERROR_TASK_FAILED;
  snprintf(op->message, sizeof op->message, "launch: %s", text);
  if (weir__cuda_is_sticky(result))
    weir__cuda_trouble(device, result);
  else
    doom(device, op);
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

CUresult weir__cuda_launch_task(weir__cuda_device *device, const weir__task *task, CUstream stream) {
  const weir__cuda_kernel *kernel = task->code;
  void *parameters[WEIR_MAX_ARGS];
  fill_parameters(task, parameters);
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < kernel->count && result == CUDA_SUCCESS; i++)
    result = weir__cuda_launch_one(device, &kernel->launches[i], task->groups, parameters, stream);
  return result;
}

// The end of what was in a stream of the caller's.
static CUresult launch_fence(weir__cuda_device *device, const weir__external_fence *head, CUstream stream) {
  CUevent event = ((const weir__cuda_fence *)head)->event;
  CUresult result = device->driver->cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_DEFAULT);
  bool must_wait = result != CUDA_SUCCESS && !weir__cuda_is_sticky(result);
  return must_wait ? device->driver->cuEventSynchronize(event) : result;
}

static CUresult launch_move(weir__cuda_device *device, const weir__move *move, CUstream stream) {
  if (move->fill)
    return device->driver->cuMemsetD32Async((CUdeviceptr)(uintptr_t)move->destination, move->pattern,
                                            move->bytes / sizeof move->pattern, stream);
  return device->driver->cuMemcpyAsync((CUdeviceptr)(uintptr_t)move->destination, (CUdeviceptr)(uintptr_t)move->source,
                                       move->bytes, stream);
}

// Copies from and to the host have queues of their own, so that they overlap kernels. The caller may choose that of a
// graph.
static uint32_t wanted_queue(weir__cuda_device *device, const weir__task *task, uint32_t predecessor_count) {
  if (task->run != NULL) return predecessor_count == 0 ? weir__cuda_run_queue(device, task) : task->run->queue;
  if (task->move == NULL || device->queue_count == 1) return WEIR__ANY_QUEUE;
  if (task->move->source_space == WEIR__HOST_SPACE) return device->queue_count - 2;
  return task->move->destination_space == WEIR__HOST_SPACE ? device->queue_count - 1 : WEIR__ANY_QUEUE;
}

static CUresult launch(weir__cuda_device *device, weir__cuda_op *op, CUstream stream) {
  if (op->batch != NULL) return weir__cuda_batch_launch(device, op->batch, stream);
  const weir__task *task = op->task;
  if (task->run != NULL) return weir__cuda_launch_run(device, op->task, stream);
  if (task->fence != NULL) return launch_fence(device, task->fence, stream);
  return task->move != NULL ? launch_move(device, task->move, stream) : weir__cuda_launch_task(device, task, stream);
}

static void let_wait(weir__cuda_device *device, const weir__cuda_wait *wait, CUstream stream) {
  const weir__cuda_queue *queue = &device->queues_in_flight[wait->queue];
  while (!weir__cuda_is_issued(queue, wait->number)) weir__pause();
  if (atomic_load_explicit(&queue->awaited, memory_order_relaxed) >= wait->number) return;
  CUresult result = device->driver->cuStreamWaitEvent(stream, wait->event, CU_EVENT_WAIT_DEFAULT);
  if (result != CUDA_SUCCESS && !weir__cuda_is_sticky(result))
    result = device->driver->cuStreamSynchronize(queue->stream);
  if (weir__cuda_is_sticky(result)) weir__cuda_trouble(device, result);
}

void weir__cuda_execute(weir__cuda_device *device, weir__cuda_op *op) {
  weir__cuda_queue *queue = &device->queues_in_flight[op->place->queue];
  CUstream stream = queue->stream;
  while (!weir__cuda_is_issued(queue, op->number - 1)) weir__pause();
  for (uint32_t i = 0; i < op->wait_count; i++) let_wait(device, &op->waits[i], stream);
  look_again(device, op);
  if (op->status == WEIR_OK) {
    weir__cuda_mark_start(device, op, stream);
    CUresult result = launch(device, op, stream);
    weir__cuda_mark_end(device, op, stream);
    if (result != CUDA_SUCCESS) refuse(device, op, result);
  }
  if (op->event != NULL) {
    CUresult result = device->driver->cuEventRecord(op->event, stream);
    if (result != CUDA_SUCCESS && !weir__cuda_is_sticky(result)) {
      result = device->driver->cuStreamSynchronize(stream);
      op->finished = true;
      atomic_store_explicit(&queue->awaited, op->number, memory_order_relaxed);
    }
    if (weir__cuda_is_sticky(result)) weir__cuda_trouble(device, result);
  }
  atomic_store_explicit(&queue->issued, op->number, memory_order_release);
}

// Where a kernel starts first, as far as that can be told before anything is known of it: launching takes a launcher's time,
// running the queue's, and the predecessors must be done.
static uint32_t earliest_queue(weir__cuda_device *device, weir__cuda_op *op, const weir__task *task,
                               weir__queue_task *const *places, uint32_t count) {
  uint64_t launch_ns = (uint64_t)LAUNCH_NS * ((const weir__cuda_kernel *)task->code)->count;
  uint64_t ready = 0, best_start = UINT64_MAX;
  uint32_t best = 0;
  for (uint32_t i = 0; i < count; i++) {
    const weir__cuda_op *before = places[i]->user;
    if (before->done_ns > ready) ready = before->done_ns;
  }
  for (uint32_t i = 0; i < device->launcher_count; i++) {
    uint64_t start = device->launcher_free_ns[i] + launch_ns;
    if (start < ready) start = ready;
    if (start < device->queues_in_flight[i].free_ns) start = device->queues_in_flight[i].free_ns;
    if (start >= best_start) continue;
    best = i;
    best_start = start;
  }
  device->launcher_free_ns[best] += launch_ns;
  op->done_ns = best_start + (uint64_t)KERNEL_NS * ((const weir__cuda_kernel *)task->code)->count;
  device->queues_in_flight[best].free_ns = op->done_ns;
  return best;
}

void weir__cuda_issue(weir__cuda_device *device, weir__task *task) {
  weir__cuda_op *op = weir__cuda_new_op(device);
  bool placed = op != NULL && weir__cuda_reserve_places(device, task->predecessor_count + 1);
  uint32_t count = 0;
  for (uint32_t i = 0; placed && i < task->predecessor_count; i++) {
    const weir__cuda_op *before = weir__cuda_find(device, task->predecessors[i]);
    if (before != NULL) device->places[count++] = before->place;
  }
  if (placed) {
    uint32_t wanted = task->kernel != NULL && task->run == NULL && device->launcher_count > 0
                          ? earliest_queue(device, op, task, device->places, count)
                          : wanted_queue(device, task, count);
    placed = weir__cuda_place(device, op, device->places, count, wanted);
  }
  if (!placed) {
    weir__cuda_fail_now(device, task);
    if (op != NULL) weir__cuda_free_op(device, op);
    return;
  }
  op->task = task;
  // What nothing in flight can poison any more, and has no times, needs nobody to wait for how its launch went.
  op->here = task->run != NULL && (count > 0 || task->reads_poison || task->run->timed || device->lost != WEIR_OK ||
                                   device->base.host->trace != NULL);
  op->status = device->lost != WEIR_OK ? device->lost : weir__host_skip_status(device->base.host, task);
  if (device->lost == WEIR_OK && is_missed(op)) doom(device, op);
  weir__cuda_start(device, op);
  if (op->here && weir__cuda_must_drain(device, task)) weir__cuda_drain(device);
}
