// SPDX-License-Identifier: Apache-2.0
//
// Memory and order that are shared with other CUDA code.
#include "weir/cuda.h"

#include <stdio.h>

#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/resident/automatic.h"
#include "device/cuda/share.h"
#include "engine/buffer.h"
#include "engine/external.h"
#include "engine/fence.h"
#include "engine/process.h"
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

static weir_status import(weir_device *device, weir__cuda_fence *fence, const char *name, weir_event **out_event) {
  weir_status status = weir__external_import(device, fence != NULL ? &fence->head : NULL, name, out_event);
  if (status != WEIR_OK && fence != NULL) weir__cuda_fence_destroy(weir__cuda_of(device), fence);
  return status;
}

weir_status weir_cuda_import_event(weir_device *base, void *cu_event, weir_event **out_event) {
  if (out_event == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "import event: out_event is NULL");
  *out_event = NULL;
  weir_status status = weir__cuda_check(base, "import event");
  if (status != WEIR_OK) return status;
  if (cu_event == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "import event: the CUevent is NULL");
  weir__cuda_fence *fence;
  char name[WEIR__EXTERNAL_NAME_BYTES];
  snprintf(name, sizeof name, "CUevent %p", cu_event);
  status = weir__cuda_fence_borrow(weir__cuda_of(base), cu_event, &fence);
  return status == WEIR_OK ? import(base, fence, name, out_event) : status;
}

weir_status weir_cuda_import_stream(weir_device *base, void *stream, weir_event **out_event) {
  if (out_event == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "import stream: out_event is NULL");
  *out_event = NULL;
  weir_status status = weir__cuda_check(base, "import stream");
  if (status != WEIR_OK) return status;
  weir__cuda_fence *fence;
  char name[WEIR__EXTERNAL_NAME_BYTES];
  snprintf(name, sizeof name, "CUstream %p", stream);
  status = weir__cuda_fence_create(weir__cuda_of(base), stream, &fence);
  return status == WEIR_OK ? import(base, fence, name, out_event) : status;
}

// Whether the device can let a stream wait for the task; nothing of a resident kernel's can be waited for by a stream.
static bool is_handed_over(weir_device *device, weir__id id) {
  const weir__task *task = weir__window_task(&device->host->window, id);
  bool issued = task->issued || (task->awaits && task->blockers == 0);
  return task->device == device->index && issued && device->host->issue != WEIR_ISSUE_RESIDENT;
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

// Lets a stream wait for what is an event of CUDA itself. False: it is none. The lock is held, so that it stays.
static bool let_wait_for_import(weir__cuda_device *device, void *stream, const weir__external *external,
                                weir_status *out_status) {
  const weir__external_fence *import = external->import;
  if (import == NULL || !weir__is_cuda(import->device)) return false;
  *out_status = weir__cuda_let_stream_wait_for_fence(device, stream, (const weir__cuda_fence *)import);
  return true;
}

weir_status weir_cuda_stream_waits_for_tasks(weir_device *base, void *stream, weir_event *event) {
  weir_status status = weir__cuda_check(base, "stream wait");
  if (status == WEIR_OK && event != NULL)
    status = weir__object_check(event, WEIR__KIND_EVENT, weir__context_of(base->host), "stream wait");
  if (status != WEIR_OK) return status;
  weir_context *context = weir__context_of(base->host);
  status = weir__check_waiter(context, "stream wait");
  if (status != WEIR_OK) return status;
  weir__cuda_device *device = weir__cuda_of(base);
  weir__resident_disable(device);
  weir__context_lock(context);
  weir__queue_await_all(context, 0);
  bool external = event != NULL && weir__external_of(event) != NULL;
  if (external && let_wait_for_import(device, stream, weir__external_of(event), &status)) {
    weir__context_unlock(context);
    return status;
  }
  if (external) { // nothing on the card stands for it
    weir__context_unlock(context);
    weir__event_await(event, WEIR_FOREVER);
    return WEIR_OK;
  }
  weir__id first = event != NULL ? event->task : context->host.window.live.oldest;
  weir__id last = event != NULL ? event->last : context->host.window.next - 1;
  wait_for_others(context, base, first, last);
  weir__context_unlock(context);
  if (event == NULL) return weir__cuda_let_stream_wait(device, stream, 0);
  for (weir__id id = first; id <= last && id != 0 && status == WEIR_OK; id++)
    status = weir__cuda_let_stream_wait(device, stream, id);
  return status;
}
