// SPDX-License-Identifier: Apache-2.0
//
// Memory and streams that are shared with other CUDA code.
#include "weir/cuda.h"

#include "api/storage.h"
#include "base/error.h"
#include "device/cuda/cuda.h"
#include "device/cuda/pinned.h"
#include "device/cuda/resident/automatic.h"

enum { POINTER_ALIGNMENT = 16 };

weir_status weir__cuda_check(weir_device *device, const char *what) {
  if (device == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the device is NULL", what);
  if (!weir__is_cuda(device))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %s is no CUDA device", what, device->name);
  return WEIR_OK;
}

weir_status weir_cuda_host_allocate(weir_device *base, uint64_t bytes, void **out_memory) {
  if (out_memory == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "host allocate: out_memory is NULL");
  *out_memory = NULL;
  weir_status status = weir__cuda_check(base, "host allocate");
  if (status != WEIR_OK) return status;
  if (bytes == 0) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "host allocate: 0 bytes");
  const weir__cuda_device *device = weir__cuda_of(base);
  CUresult result = weir__cuda_enter(device);
  if (result == CUDA_SUCCESS) {
    result = device->driver->cuMemHostAlloc(out_memory, bytes, CU_MEMHOSTALLOC_PORTABLE);
    weir__cuda_leave(device);
  }
  if (result == CUDA_SUCCESS) weir__cuda_pinned_add(device, *out_memory, bytes);
  return weir__cuda_error(device->driver, result, "host allocate: %llu bytes", (unsigned long long)bytes);
}

void weir_cuda_host_free(weir_device *base, void *memory) {
  if (memory == NULL || weir__cuda_check(base, "host free") != WEIR_OK) return;
  const weir__cuda_device *device = weir__cuda_of(base);
  weir__cuda_pinned_remove(memory);
  if (weir__cuda_enter(device) != CUDA_SUCCESS) return;
  device->driver->cuMemFreeHost(memory);
  weir__cuda_leave(device);
}

static weir_status check_pointer(const weir__cuda_device *device, uint64_t pointer, uint64_t bytes) {
  const weir__cuda_driver *driver = device->driver;
  unsigned int type = 0;
  int ordinal = -1;
  CUdeviceptr base = 0;
  size_t size = 0;
  if (driver->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer) != CUDA_SUCCESS ||
      type != CU_MEMORYTYPE_DEVICE)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "buffer wrap: 0x%llx is no memory of a CUDA device",
                       (unsigned long long)pointer);
  if (driver->cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer) != CUDA_SUCCESS ||
      ordinal != device->ordinal)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "buffer wrap: 0x%llx is memory of CUDA device %d, not of %s",
                       (unsigned long long)pointer, ordinal, device->base.name);
  if (driver->cuMemGetAddressRange(&base, &size, pointer) != CUDA_SUCCESS || bytes > size ||
      pointer - base > size - bytes)
    return weir__error(
        WEIR_ERROR_OUT_OF_RANGE, "buffer wrap: %llu bytes from 0x%llx leave their allocation of %llu bytes at 0x%llx",
        (unsigned long long)bytes, (unsigned long long)pointer, (unsigned long long)size, (unsigned long long)base);
  return WEIR_OK;
}

weir_status weir_buffer_wrap_cuda(weir_device *base, uint64_t pointer, uint64_t bytes, weir_buffer **out_buffer) {
  if (out_buffer == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "buffer wrap: out_buffer is NULL");
  *out_buffer = NULL;
  weir_status status = weir__cuda_check(base, "buffer wrap");
  if (status != WEIR_OK) return status;
  const weir__cuda_device *device = weir__cuda_of(base);
  if (pointer % POINTER_ALIGNMENT != 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "buffer wrap: 0x%llx is no multiple of %d",
                       (unsigned long long)pointer, POINTER_ALIGNMENT);
  CUresult result = weir__cuda_enter(device);
  if (result != CUDA_SUCCESS) return weir__cuda_error(device->driver, result, "buffer wrap");
  status = check_pointer(device, pointer, bytes);
  weir__cuda_leave(device);
  if (status != WEIR_OK) return status;
  return weir__buffer_make(base->context, "buffer wrap", (void *)(uintptr_t)pointer, base->space, bytes, true,
                           out_buffer);
}

// Submits a task that is done when an event of the device's is, and orders all later ones behind it.
static weir__admit_result enter_fence(weir_device *device, CUevent event, weir_status *out_status) {
  weir_context *context = device->context;
  const weir_task named = {.label = "stream"};
  const weir__submission submission = {.task = &named};
  weir__admit_result result = weir__await_room(context, &submission, 1, out_status);
  if (result != WEIR__ADMITTED) return result;
  weir__task *slot = weir__window_task(&context->window, context->window.next);
  weir__move *move = (weir__move *)(void *)slot->payload;
  *move = (weir__move){.fence = event};
  weir__request request = {.submission = &submission, .device = device, .label = "stream", .move = move};
  result = weir__admit(context, &request, NULL, out_status);
  if (result == WEIR__ADMITTED) context->fence = slot->id;
  return result;
}

static weir_status order_behind(weir_device *device, CUevent event) {
  weir_context *context = device->context;
  weir_status status = WEIR_OK;
  weir__admit_result result;
  weir__context_lock(context);
  do {
    result = enter_fence(device, event, &status);
  } while (result == WEIR__RETRY);
  weir__context_unlock(context);
  return status;
}

weir_status weir_cuda_wait_stream(weir_device *base, void *stream) {
  weir_status status = weir__cuda_check(base, "wait for a stream");
  if (status != WEIR_OK) return status;
  weir__cuda_device *device = weir__cuda_of(base);
  CUevent event = NULL;
  weir__resident_refrain(device);
  CUresult result = weir__cuda_enter(device);
  if (result != CUDA_SUCCESS) return weir__cuda_error(device->driver, result, "wait for a stream");
  result = device->driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  if (result == CUDA_SUCCESS) result = device->driver->cuEventRecord(event, (CUstream)stream);
  status = weir__cuda_error(device->driver, result, "wait for a stream");
  if (status == WEIR_OK) status = order_behind(base, event);
  if (status != WEIR_OK && event != NULL) device->driver->cuEventDestroy(event);
  weir__cuda_leave(device);
  return status;
}

// Whether the device can let a stream wait for the task; nothing of a resident kernel's can be waited for by a stream.
static bool is_handed_over(weir_device *device, weir__id id) {
  const weir__task *task = weir__window_task(&device->context->window, id);
  return task->device == device->index && task->issued && device->context->issue != WEIR_ISSUE_RESIDENT;
}

// Waits until all tasks from `first` to `last` that are still in flight have been handed to the device.
static void wait_for_others(weir_context *context, weir_device *device, weir__id first, weir__id last) {
  for (weir__id id = first; id <= last; id++) {
    while (weir__live(&context->window.live, id) && !is_handed_over(device, id)) {
      weir__context_flush(context);
      weir__context_wait(context, id + 1, WEIR_FOREVER);
    }
  }
}

// Lets the stream wait for a task, or for all that were handed over.
static weir_status let_wait(weir__cuda_device *device, void *stream, weir__id task) {
  weir__cuda_request request = {.stream = (CUstream)stream, .task = task};
  weir__cuda_ask(device, &request);
  return weir__cuda_error(device->driver, request.result, "stream wait");
}

weir_status weir_cuda_stream_wait(weir_device *base, void *stream, weir_event *event) {
  weir_status status = weir__cuda_check(base, "stream wait");
  if (status == WEIR_OK && event != NULL)
    status = weir__object_check(event, WEIR__KIND_EVENT, base->context, "stream wait");
  if (status != WEIR_OK) return status;
  if (weir__in_task) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "stream wait: called from a task or callback");
  weir__cuda_device *device = weir__cuda_of(base);
  weir_context *context = base->context;
  weir__resident_refrain(device);
  weir__context_lock(context);
  weir__id first = event != NULL ? event->task : context->window.live.oldest;
  weir__id last = event != NULL ? event->last : context->window.next - 1;
  wait_for_others(context, base, first, last);
  weir__context_unlock(context);
  if (event == NULL) return let_wait(device, stream, 0);
  for (weir__id id = first; id <= last && status == WEIR_OK; id++) status = let_wait(device, stream, id);
  return status;
}
