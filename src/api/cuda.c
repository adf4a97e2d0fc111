// SPDX-License-Identifier: Apache-2.0
//
// Memory and order that are shared with other CUDA code.
#include "weir/cuda.h"

#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/resident/automatic.h"
#include "device/cuda/share.h"
#include "engine/buffer.h"
#include "engine/fence.h"
#include "engine/queue.h"

enum { POINTER_ALIGNMENT = 16 };

weir_status weir_buffer_wrap_cuda(weir_device *base, uint64_t pointer, uint64_t bytes, weir_buffer **out_buffer) {
  if (out_buffer == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "buffer wrap: out_buffer is NULL");
  *out_buffer = NULL;
  weir_status status = weir__cuda_check(base, "buffer wrap");
  if (status != WEIR_OK) return status;
  if (pointer % POINTER_ALIGNMENT != 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "buffer wrap: 0x%llx is no multiple of %d",
                       (unsigned long long)pointer, POINTER_ALIGNMENT);
  status = weir__cuda_wrap(weir__cuda_of(base), pointer, bytes);
  return status == WEIR_OK ? weir__buffer_wrap(base, (void *)(uintptr_t)pointer, bytes, out_buffer) : status;
}

weir_status weir_cuda_tasks_wait_for_stream(weir_device *base, void *stream) {
  weir_status status = weir__cuda_check(base, "wait for a stream");
  if (status != WEIR_OK) return status;
  weir__cuda_device *device = weir__cuda_of(base);
  weir__cuda_fence *fence;
  weir__resident_disable(device);
  status = weir__cuda_fence_create(device, stream, &fence);
  if (status != WEIR_OK) return status;
  status = weir__fence_submit(base, &fence->head, NULL, "stream", NULL);
  if (status != WEIR_OK) weir__cuda_fence_destroy(device, fence);
  return status;
}

// Whether the device can let a stream wait for the task; nothing of a resident kernel's can be waited for by a stream.
static bool is_handed_over(weir_device *device, weir__id id) {
  const weir__task *task = weir__window_task(&device->host->window, id);
  return task->device == device->index && task->issued && device->host->issue != WEIR_ISSUE_RESIDENT;
}

// Waits until all tasks from `first` to `last` that are still in flight have been handed to the device.
static void wait_for_others(weir_context *context, weir_device *device, weir__id first, weir__id last) {
  for (weir__id id = first; id <= last; id++) {
    while (weir__live(&context->host.window.live, id) && !is_handed_over(device, id)) {
      weir__context_flush(context);
      weir__context_wait(context, id + 1, WEIR_FOREVER);
    }
  }
}

weir_status weir_cuda_stream_waits_for_tasks(weir_device *base, void *stream, weir_event *event) {
  weir_status status = weir__cuda_check(base, "stream wait");
  if (status == WEIR_OK && event != NULL)
    status = weir__object_check(event, WEIR__KIND_EVENT, weir__context_of(base->host), "stream wait");
  if (status != WEIR_OK) return status;
  if (weir__this_thread.in_task)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "stream wait: %s", weir__thread_place());
  weir__cuda_device *device = weir__cuda_of(base);
  weir_context *context = weir__context_of(base->host);
  weir__resident_disable(device);
  weir__context_lock(context);
  weir__queue_await_all(context);
  weir__id first = event != NULL ? event->task : context->host.window.live.oldest;
  weir__id last = event != NULL ? event->last : context->host.window.next - 1;
  wait_for_others(context, base, first, last);
  weir__context_unlock(context);
  if (event == NULL) return weir__cuda_let_stream_wait(device, stream, 0);
  for (weir__id id = first; id <= last && id != 0 && status == WEIR_OK; id++)
    status = weir__cuda_let_stream_wait(device, stream, id);
  return status;
}
