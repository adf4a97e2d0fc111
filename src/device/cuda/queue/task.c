// SPDX-License-Identifier: Apache-2.0
//
// A task in a queue by itself: a kernel, a copy, a fill or a fence.
#include "device/cuda/queue/call.h"
#include "device/cuda/queue/launch.h"
#include "device/cuda/share.h"

// The stream waits for the end of what was in a stream of the caller's.
static CUresult launch_fence(weir__cuda_device *device, const weir__external_fence *head, CUstream stream) {
  CUevent event = ((const weir__cuda_fence *)head)->event;
  if (event == NULL) return CUDA_SUCCESS; // a marker
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
  const weir__task *task = op->head.task;
  if (weir__task_fence(task) != NULL) return launch_fence(device, weir__task_fence(task), stream);
  if (task->move != NULL) return launch_move(device, task->move, stream);
  const weir__cuda_kernel *kernel = task->code;
  return kernel->head.enqueue != NULL ? weir__cuda_call_task(device, op) : weir__cuda_launch_task(device, task, stream);
}

static void look_again(weir__cuda_device *device, weir__cuda_op *op) {
  weir__host *host = device->base.device.host;
  op->head.status = weir__host_skip_status(host, op->head.task);
  op->head.message[0] = '\0';
  if (weir__in_order_is_missed(&op->head)) weir__window_mark_failing(&host->window, op->head.task);
}

const weir__cuda_op_ops weir__cuda_task_ops = {.launch = launch, .look_again = look_again};
