// SPDX-License-Identifier: Apache-2.0
//
// Queue issue: each task goes to a stream, behind events of predecessors that the stream's order does not imply.
#include "device/cuda/cuda_device.h"
#include "device/cuda/queue/open.h"
#include "device/cuda/queue/schedule.h"

weir__cuda_op *weir__cuda_reset(weir__operation *operation) {
  weir__cuda_op *op = weir__cuda_op_of(operation);
  op->event = op->start = op->end = NULL;
  op->batch = NULL;
  op->finished = op->here = op->stalls = op->judged = false;
  op->launched_ns = op->done_ns = 0;
  op->wait_count = 0;
  return op;
}

// Records the events that the choice asks for. Only ops of queues without launchers come without one.
bool weir__cuda_record_choice(weir__cuda_device *device, const weir__queue_choice *choice) {
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
    const weir__cuda_queue *queue = &device->streams[choice->waits[i]->queue];
    const weir__cuda_op *before = choice->waits[i]->user;
    weir__cuda_drain(device, queue);
    // Not for what is behind it in the stream, which may wait for the caller (imports.h).
    bool recorded = before->event != NULL && choice->waits[i]->recorded;
    CUresult result = recorded ? device->driver->cuEventSynchronize(before->event)
                               : device->driver->cuStreamSynchronize(queue->stream);
    if (weir__cuda_is_sticky(result)) weir__cuda_trouble(device, result);
  }
}

bool weir__cuda_place(weir__cuda_device *device, weir__cuda_op *op, uint32_t count, uint32_t wanted) {
  CUevent event = NULL;
  if (device->launcher_count > 0) {
    event = weir__cuda_take_event(device);
    if (event == NULL) return false;
  }
  weir__queue_choice choice = weir__queues_issue(device->base.queues, device->base.operations.places, count, wanted);
  if (choice.task == NULL) {
    if (event != NULL) weir__cuda_give_event(device, event);
    return false;
  }
  op->head.place = choice.task;
  op->event = event;
  choice.task->user = op;
  choice.task->recorded = event != NULL;
  op->wait_count = 0;
  bool recorded = weir__cuda_record_choice(device, &choice);
  if (!recorded || choice.wait_count > WEIR__CUDA_WAITS) {
    wait_for(device, &choice);
    return true;
  }
  for (uint32_t i = 0; i < choice.wait_count; i++) {
    const weir__cuda_op *before = choice.waits[i]->user;
    op->waits[op->wait_count++] =
        (weir__cuda_wait){.event = before->event, .queue = before->head.place->queue, .number = before->number};
  }
  return true;
}

void weir__cuda_start(weir__cuda_device *device, weir__cuda_op *op) {
  weir__cuda_queue *queue = &device->streams[op->head.place->queue];
  op->number = ++queue->placed;
  weir__in_order_append(&device->base, &op->head);
  bool is_run = op->head.task != NULL && op->head.task->run != NULL;
  if (!op->here && device->launcher_count > 0) {
    weir__cuda_launcher_push(device->launchers[is_run ? 0 : op->head.place->queue % device->launcher_count], op);
    return;
  }
  if (is_run && device->launcher_count > 0)
    weir__cuda_launcher_drain(device->launchers[0]); // it may have the same graph
  weir__cuda_execute(device, op);
}

// Copies from and to the host have queues of their own, so that they overlap kernels. The caller may choose that of a
// graph.
static uint32_t wanted_queue(weir__cuda_device *device, const weir__task *task, uint32_t predecessor_count) {
  if (task->run != NULL) return predecessor_count == 0 ? device->runs->queue(device, task) : task->run->queue;
  if (task->move == NULL || device->queue_count == 1) return WEIR__ANY_QUEUE;
  if (task->move->source_space == WEIR__HOST_SPACE) return device->queue_count - 2;
  return task->move->destination_space == WEIR__HOST_SPACE ? device->queue_count - 1 : WEIR__ANY_QUEUE;
}

// The queue of a kernel that is to be apart; any, for others, or if it cannot be made. Streams of such queues come
// first on the card.
static uint32_t apart_queue(weir__cuda_device *device, const weir__task *task) {
  enum { HIGH_PRIORITY = -5 }; // beyond the driver's range, which it ends at
  const weir__cuda_kernel *kernel = task->code;
  bool is_call = task->kernel != NULL && task->run == NULL && kernel->head.enqueue != NULL;
  if (!is_call || kernel->head.enqueue->apart == 0) return WEIR__ANY_QUEUE;
  uint32_t index = device->queue_count + WEIR__MOST_OPEN + kernel->head.enqueue->apart - 1;
  weir__cuda_queue *queue = &device->streams[index];
  if (queue->stream == NULL &&
      device->driver->cuStreamCreateWithPriority(&queue->stream, CU_STREAM_NON_BLOCKING, HIGH_PRIORITY) != CUDA_SUCCESS)
    return WEIR__ANY_QUEUE;
  if (device->base.queue_count == device->queue_count) weir__in_order_widen(&device->base, WEIR__CUDA_LATE_QUEUES);
  return index;
}

// Whether a run's op must be done before anything else is launched: events of a timeline belong to one launch at a
// time; and who reads what a skipped node should have written must know before it is launched.
static bool must_drain(const weir__cuda_device *device, weir__graph_run *run) {
  return device->base.device.host->trace != NULL || run->timed ||
         atomic_load_explicit(&run->failed_count, memory_order_relaxed) > 0;
}

static void give_up_stall(weir__cuda_device *device) {
  weir__host_lock(device->base.device.host);
  weir__cuda_stalls_no_more(device);
  weir__host_unlock(device->base.device.host);
}

bool weir__cuda_enqueue(weir__in_order_device *base, weir__operation *operation, uint32_t count) {
  weir__cuda_device *device = weir__cuda_of_in_order(base);
  weir__cuda_op *op = weir__cuda_reset(operation);
  const weir__task *task = operation->task;
  if (task->kind == WEIR__TASK_OPEN) return weir__cuda_enqueue_open(device, operation, count);
  uint32_t wanted = apart_queue(device, task);
  if (wanted == WEIR__ANY_QUEUE)
    wanted = task->kernel != NULL && task->run == NULL && device->launcher_count > 0
                 ? weir__cuda_schedule(device, op, task, count)
                 : wanted_queue(device, task, count);
  bool stalls = operation->status == WEIR_OK && weir__cuda_stalls(device, task->id, &wanted);
  if (!weir__cuda_place(device, op, count, wanted)) {
    if (stalls) give_up_stall(device);
    return false;
  }
  if (stalls) weir__queues_stall(base->queues, op->head.place);
  op->stalls = stalls;
  op->ops = task->run != NULL ? &device->runs->head : &weir__cuda_task_ops;
  // What nothing in flight can poison any more, and has no times, needs nobody to wait for how its launch went.
  op->here = task->run != NULL && (count > 0 || device->runs->may_fail(task) || task->reads_poison ||
                                   task->run->timed || base->lost != WEIR_OK || base->device.host->trace != NULL);
  weir__cuda_start(device, op);
  return true;
}

void weir__cuda_issue(weir__cuda_device *device, weir__task *task) {
  weir__operation *operation = weir__in_order_issue(&device->base, task);
  if (operation != NULL && weir__cuda_op_of(operation)->here && must_drain(device, task->run))
    weir__in_order_drain_queue(&device->base, operation->place->queue);
}
