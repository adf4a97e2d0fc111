// SPDX-License-Identifier: Apache-2.0
//
// A task in a queue by itself: a kernel, a copy, a fill or a fence.
#include "device/cuda/queue/launch.h"
#include "device/cuda/share.h"

// The stream waits for the end of what was in a stream of the caller's.
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

static CUresult launch(weir__cuda_device *device, weir__cuda_op *op, CUstream stream) {
  const weir__task *task = op->task;
  if (task->fence != NULL) return launch_fence(device, task->fence, stream);
  return task->move != NULL ? launch_move(device, task->move, stream) : weir__cuda_launch_task(device, task, stream);
}

bool weir__cuda_is_missed(const weir__cuda_op *op) {
  return op->status != WEIR_OK && !(op->task->move != NULL && op->task->move->write_back);
}

static void mark_failing(weir__cuda_device *device, const weir__cuda_op *op) {
  weir__window_mark_failing(&device->base.host->window, op->task);
}

static void look_again(weir__cuda_device *device, weir__cuda_op *op) {
  op->status = weir__host_skip_status(device->base.host, op->task);
  if (weir__cuda_is_missed(op)) mark_failing(device, op);
}

static void report(weir__cuda_device *device, weir__cuda_op *op) {
  weir__task *task = op->task;
  uint64_t submit_ns;
  weir__completion completion = weir__cuda_completion_of(device, op, &submit_ns);
  // It ran, but on what a task that could not be launched should have written.
  if (op->status == WEIR_OK && task->reads_poison && weir__host_skip_status(device->base.host, task) != WEIR_OK)
    completion.status = WEIR_ERROR_UPSTREAM_FAILED;
  if (task->fence != NULL) weir__cuda_fence_destroy(device, (weir__cuda_fence *)task->fence);
  weir__cuda_complete(device, task, &completion);
}

const weir__cuda_op_ops weir__cuda_task_ops = {
    .launch = launch, .mark_failing = mark_failing, .look_again = look_again, .report = report};
