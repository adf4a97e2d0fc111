// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a batch that is launched as one graph.
#include "base/allocate.h"
#include "device/cuda/graph/batches_inside.h"
#include "device/cuda/graph/capture.h"
#include "device/cuda/queue/launch.h"
#include "device/cuda/resident/resident.h"

enum {
  TASKS_AT_ONCE = 32, // are reported
  AHEAD = 4,          // so far tasks that will be reported are fetched
};

weir__cuda_batch *weir__cuda_batch_new(weir__cuda_batches *batches) {
  weir__cuda_batch *batch = batches->free_batches;
  if (batch == NULL) return weir__allocate(sizeof *batch);
  batches->free_batches = batch->next;
  return batch;
}

void weir__cuda_batch_free(weir__cuda_batches *batches, weir__cuda_batch *batch) {
  batch->next = batches->free_batches;
  batches->free_batches = batch;
}

void weir__cuda_batches_free(weir__cuda_batches *batches) {
  while (batches->free_batches != NULL) {
    weir__cuda_batch *batch = batches->free_batches;
    batches->free_batches = batch->next;
    weir__free(batch);
  }
}

// With enqueue functions, whose lanes are in order with those of other graphs.
static CUresult launch_in_lanes(weir__cuda_device *device, const weir__cuda_exec *exec, CUstream stream) {
  CUresult result = weir__cuda_begin_set(device, exec->set, stream);
  if (result == CUDA_SUCCESS) result = device->driver->cuGraphLaunch(exec->exec, stream);
  return result == CUDA_SUCCESS ? weir__cuda_end_set(device, exec->set, stream) : result;
}

static CUresult launch(weir__cuda_device *device, weir__cuda_op *op, CUstream stream) {
  weir__cuda_batch *batch = op->batch;
  if (batch->exec == NULL) return CUDA_SUCCESS;
  if (batch->exec->calls != NULL) return launch_in_lanes(device, batch->exec, stream);
  CUresult result = device->driver->cuGraphLaunch(batch->exec->exec, stream);
  if (result == CUDA_SUCCESS || weir__cuda_is_sticky(result)) return result;
  // One after another they may still go.
  batch->useless = true;
  result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < batch->count && result == CUDA_SUCCESS; i++)
    result = weir__cuda_launch_task(device, batch->tasks[i], stream);
  return result;
}

// No task of the batch will end well, or none of those that read poison (`poisoned`).
static void mark_tasks(weir__cuda_device *device, const weir__cuda_batch *batch, bool poisoned) {
  for (uint32_t i = 0; i < batch->count; i++) {
    if (!poisoned || batch->tasks[i]->reads_poison)
      weir__window_mark_failing(&device->base.device.host->window, batch->tasks[i]);
  }
}

static void mark_failing(weir__cuda_device *device, const weir__cuda_op *op) {
  mark_tasks(device, op->batch, false);
}

static void look_again(weir__cuda_device *device, weir__cuda_op *op) {
  mark_tasks(device, op->batch, true);
}

static void time_task(weir__cuda_device *device, const weir__cuda_op *op, uint32_t index,
                      weir__completion *completion) {
  const weir__trace_task *record = weir__trace_find(device->base.device.host->trace, op->batch->tasks[index]->id);
  uint64_t submit_ns = record != NULL ? record->submit_ns : 0;
  if (op->batch->exec != NULL && !op->batch->useless) {
    weir__cuda_mark_times(device, op->batch->exec->marks + 2 * (size_t)index, submit_ns, &completion->start_ns,
                          &completion->end_ns, &completion->lane);
    return;
  }
  // Without a graph tasks ran one after another, or have nothing to run: each is shown with an equal share of the time.
  uint64_t start = weir__cuda_event_ns(device, op->start), end = weir__cuda_event_ns(device, op->end);
  uint64_t all = end > start ? end - start : 0, count = op->batch->count;
  completion->start_ns = start + all * index / count;
  completion->end_ns = start + all * (index + 1) / count;
  if (completion->start_ns < submit_ns) completion->start_ns = submit_ns;
  if (completion->end_ns < completion->start_ns) completion->end_ns = completion->start_ns;
}

static void report(weir__cuda_device *device, weir__cuda_op *op, const weir__completion *none) {
  (void)none;
  weir__host *host = device->base.device.host;
  weir__cuda_batch *batch = op->batch;
  for (uint32_t i = 0; i < batch->count; i++) {
    weir__task *task = batch->tasks[i];
    if (i + AHEAD < batch->count) __builtin_prefetch(batch->tasks[i + AHEAD], 1);
    weir__completion completion = {.status = op->head.status,
                                   .message = op->head.status != WEIR_OK ? op->head.message : NULL,
                                   .lane = op->head.place->queue};
    if (op->head.status == WEIR_OK && task->reads_poison) completion.status = WEIR_ERROR_UPSTREAM_FAILED;
    if (host->trace != NULL) time_task(device, op, i, &completion);
    weir__operations_set(&device->base.operations, task->id, NULL);
    if (device->resident != NULL) weir__resident_ended(device, task->id);
    weir__host_complete(host, task, &completion);
    if (i % TASKS_AT_ONCE != TASKS_AT_ONCE - 1) continue;
    weir__host_completed(host); // and let others have the lock
    weir__host_unlock(host);
    weir__host_lock(host);
  }
  if (batch->exec != NULL)
    weir__graph_cache_give(weir__recurrence_graphs(device->batches->recurrence), &batch->exec->head, batch->useless);
  weir__cuda_batch_free(device->batches, batch);
}

const weir__cuda_op_ops weir__cuda_batch_ops = {
    .launch = launch, .mark_failing = mark_failing, .look_again = look_again, .report = report};
