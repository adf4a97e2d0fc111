// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/queue/call.h"

#include <stdarg.h>
#include <stdio.h>

// Notes what the function did wrong, in place of what it said itself.
__attribute__((format(printf, 2, 3))) static void accuse(weir__enqueue_call *call, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(call->text, sizeof call->text, format, list);
  va_end(list);
}

// The stream is gone, and with it what would have told when its work is done. Nothing may be put there any more.
static weir_status lose_queue(weir__cuda_device *device, weir__enqueue_call *call, weir__cuda_queue *queue,
                              CUresult result) {
  accuse(call, "the enqueue function destroyed its queue, and with that the device is lost");
  CUstream other = NULL; // the legacy default stream, if there is no other
  if (device->driver->cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) other = NULL;
  queue->stream = other;
  weir__cuda_trouble(device, result);
  return WEIR_ERROR_DEVICE_LOST;
}

// The function left its queue in a capture, which is given up.
static weir_status end_capture(const weir__cuda_device *device, weir__enqueue_call *call, CUstream stream) {
  CUgraph graph = NULL;
  if (device->driver->cuStreamEndCapture != NULL) device->driver->cuStreamEndCapture(stream, &graph);
  if (graph != NULL) device->driver->cuGraphDestroy(graph);
  accuse(call, "the enqueue function began to capture its queue and did not end that");
  return WEIR_ERROR_TASK_FAILED;
}

// Looks at what the function left behind. `status`: how it went otherwise.
static weir_status inspect(weir__cuda_device *device, weir__enqueue_call *call, weir__cuda_queue *queue,
                           weir_status status) {
  const weir__cuda_driver *driver = device->driver;
  CUcontext current = NULL;
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != device->primary)
    driver->cuCtxSetCurrent(device->primary);
  if (driver->cuStreamIsCapturing == NULL) return status;
  CUresult result = driver->cuStreamIsCapturing(queue->stream, &capture);
  if (result == CUDA_SUCCESS && capture == CU_STREAM_CAPTURE_STATUS_NONE) return status;
  if (result == CUDA_SUCCESS) return end_capture(device, call, queue->stream);
  if (result == CUDA_ERROR_INVALID_HANDLE) return lose_queue(device, call, queue, result);
  if (!weir__cuda_is_sticky(result)) return status; // the driver did not say
  char text[96];
  accuse(call, "after the enqueue function the device was lost: %s",
         weir__cuda_result_text(driver, result, text, sizeof text));
  weir__cuda_trouble(device, result);
  return WEIR_ERROR_DEVICE_LOST;
}

weir_status weir__cuda_call(weir__cuda_device *device, weir__enqueue_call *call, weir__enqueue *enqueue, uint32_t queue,
                            uint32_t lane) {
  call->call.queue = device->streams[queue].stream;
  call->call.native_context = device->primary;
  call->call.lane = lane;
  return inspect(device, call, &device->streams[queue], weir__enqueue_run(call, enqueue));
}

CUresult weir__cuda_call_task(weir__cuda_device *device, weir__cuda_op *op) {
  const weir__cuda_kernel *kernel = op->head.task->code;
  weir__enqueue_call call;
  if (!weir__enqueue_begin(&call, kernel->head.enqueue, &device->base.device, op->head.task))
    return CUDA_ERROR_OUT_OF_MEMORY;
  uint32_t queue = op->head.place->queue;
  weir_status status = weir__cuda_call(device, &call, kernel->head.enqueue, queue, queue);
  if (status != WEIR_OK) weir__in_order_refuse(&device->base, &op->head, status, "launch", call.text);
  op->judged = status == WEIR_OK && kernel->head.enqueue->verdict != NULL;
  weir__enqueue_end(&call);
  return CUDA_SUCCESS;
}

void weir__cuda_call_node(weir__cuda_device *device, weir__graph_run *run, uint32_t index, uint32_t queue,
                          uint32_t lane) {
  const weir__cuda_kernel *kernel = weir__cuda_code_of(run->plan->nodes[index].kernel);
  weir__enqueue_call call;
  if (!weir__enqueue_begin_node(&call, kernel->head.enqueue, &device->base.device, run, index)) {
    weir__graph_run_note_failure(run, index, "no memory for its arguments");
    return;
  }
  if (weir__cuda_call(device, &call, kernel->head.enqueue, queue, lane) != WEIR_OK)
    weir__graph_run_note_failure(run, index, call.text);
  weir__enqueue_end(&call);
}
