// SPDX-License-Identifier: Apache-2.0
//
// An op goes into its stream: what it waits for, its work, its event. In the device's thread, or in one that holds its launcher's ring.
#include "device/cuda/cuda_device.h"

// A launcher may have refused what the op comes after when that was placed already. Then the op is skipped, too, and passes it
// on, since its end may be noticed before theirs.
static void look_again(weir__cuda_device *device, weir__cuda_op *op) {
  weir__host *host = device->base.device.host;
  if (op->ops->look_again == NULL || op->head.status != WEIR_OK) return;
  if (!atomic_load_explicit(&device->base.has_failing, memory_order_relaxed)) return;
  weir__host_lock(host);
  op->ops->look_again(device, op);
  weir__host_unlock(host);
}

// Nothing can be launched for the op, whose tasks fail with what the result says.
static void refuse(weir__cuda_device *device, weir__cuda_op *op, CUresult result) {
  weir__host *host = device->base.device.host;
  char text[160];
  bool sticky = weir__cuda_is_sticky(result);
  weir__cuda_result_text(device->driver, result, text, sizeof text);
  if (sticky) weir__cuda_trouble(device, result);
  weir__in_order_refuse(&device->base, &op->head, weir__cuda_status(result), "launch", text);
  if (sticky || op->ops->mark_failing == NULL) return;
  weir__host_lock(host);
  op->ops->mark_failing(device, op);
  weir__host_unlock(host);
  atomic_store_explicit(&device->base.has_failing, true, memory_order_relaxed);
}

static void let_wait(weir__cuda_device *device, const weir__cuda_wait *wait, CUstream stream) {
  const weir__cuda_queue *queue = &device->streams[wait->queue];
  weir__cuda_await_issued(device, queue, wait->number);
  if (atomic_load_explicit(&queue->awaited, memory_order_relaxed) >= wait->number) return;
  CUresult result = device->driver->cuStreamWaitEvent(stream, wait->event, CU_EVENT_WAIT_DEFAULT);
  if (result != CUDA_SUCCESS && !weir__cuda_is_sticky(result))
    result = device->driver->cuStreamSynchronize(queue->stream);
  if (weir__cuda_is_sticky(result)) weir__cuda_trouble(device, result);
}

bool weir__cuda_can_execute(const weir__cuda_device *device, const weir__cuda_op *op, weir__cuda_wait *out_blocker) {
  *out_blocker = (weir__cuda_wait){.queue = op->head.place->queue, .number = op->number - 1};
  if (!weir__cuda_is_issued(&device->streams[out_blocker->queue], out_blocker->number)) return false;
  for (uint32_t i = 0; i < op->wait_count; i++) {
    *out_blocker = op->waits[i];
    if (!weir__cuda_is_issued(&device->streams[out_blocker->queue], out_blocker->number)) return false;
  }
  return true;
}

void weir__cuda_execute(weir__cuda_device *device, weir__cuda_op *op) {
  weir__cuda_queue *queue = &device->streams[op->head.place->queue];
  CUstream stream = queue->stream;
  weir__cuda_await_issued(device, queue, op->number - 1);
  for (uint32_t i = 0; i < op->wait_count; i++) let_wait(device, &op->waits[i], stream);
  look_again(device, op);
  if (op->stalls && op->head.status == WEIR_OK) {
    CUresult result = weir__cuda_let_wait_for_imports(device, op, stream);
    if (result != CUDA_SUCCESS) refuse(device, op, result);
  }
  if (op->head.status == WEIR_OK) {
    weir__cuda_mark_start(device, op, stream);
    CUresult result = op->ops->launch(device, op, stream);
    stream = queue->stream; // an enqueue function may have taken it away, and then there is another one
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
