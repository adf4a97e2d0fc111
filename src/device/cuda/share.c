// SPDX-License-Identifier: Apache-2.0
//
// Memory and streams that are shared with other CUDA code.
#include "device/cuda/share.h"

#include <stdio.h>

#include "base/allocate.h"
#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/pinned.h"
#include "weir/cuda.h"

weir_status weir__cuda_host_allocate(weir_device *base, uint64_t bytes, void **out_memory) {
  const weir__cuda_device *device = weir__cuda_of(base);
  CUresult result = weir__cuda_enter(device);
  if (result == CUDA_SUCCESS) {
    result = device->driver->cuMemHostAlloc(out_memory, bytes, CU_MEMHOSTALLOC_PORTABLE);
    weir__cuda_leave(device);
  }
  if (result == CUDA_SUCCESS) weir__cuda_pinned_add(device, *out_memory, bytes);
  return weir__cuda_error(device->driver, result, "host allocate: %llu bytes", (unsigned long long)bytes);
}

void weir__cuda_host_free(weir_device *base, void *memory) {
  const weir__cuda_device *device = weir__cuda_of(base);
  weir__cuda_pinned_remove(memory);
  if (weir__cuda_enter(device) != CUDA_SUCCESS) return;
  device->driver->cuMemFreeHost(memory);
  weir__cuda_leave(device);
}

// Checks that a range lies in one allocation of the device's. Its context is current.
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
                       (unsigned long long)pointer, ordinal, device->base.device.name);
  if (driver->cuMemGetAddressRange(&base, &size, pointer) != CUDA_SUCCESS || bytes > size ||
      pointer - base > size - bytes)
    return weir__error(
        WEIR_ERROR_OUT_OF_RANGE, "buffer wrap: %llu bytes from 0x%llx leave their allocation of %llu bytes at 0x%llx",
        (unsigned long long)bytes, (unsigned long long)pointer, (unsigned long long)size, (unsigned long long)base);
  return WEIR_OK;
}

weir_status weir__cuda_wrap(weir__cuda_device *device, uint64_t pointer, uint64_t bytes) {
  CUresult result = weir__cuda_enter(device);
  if (result != CUDA_SUCCESS) return weir__cuda_error(device->driver, result, "buffer wrap");
  weir_status status = check_pointer(device, pointer, bytes);
  weir__cuda_leave(device);
  return status;
}

weir_status weir__cuda_fence_create(weir__cuda_device *device, void *stream, weir__cuda_fence **out_fence) {
  const weir__cuda_driver *driver = device->driver;
  weir__cuda_fence *fence = weir__allocate_zeroed(sizeof *fence);
  *out_fence = fence;
  if (fence == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "wait for a stream: no memory");
  CUresult result = weir__cuda_enter(device);
  if (result == CUDA_SUCCESS) {
    result = driver->cuEventCreate(&fence->event, CU_EVENT_DISABLE_TIMING);
    if (result == CUDA_SUCCESS) result = driver->cuEventRecord(fence->event, (CUstream)stream);
    weir__cuda_leave(device);
  }
  if (result == CUDA_SUCCESS) return WEIR_OK;
  weir__cuda_fence_destroy(device, fence);
  *out_fence = NULL;
  return weir__cuda_error(driver, result, "wait for a stream");
}

void weir__cuda_fence_destroy(weir__cuda_device *device, weir__cuda_fence *fence) {
  if (fence->event != NULL && !fence->borrowed && weir__cuda_enter(device) == CUDA_SUCCESS) {
    device->driver->cuEventDestroy(fence->event);
    weir__cuda_leave(device);
  }
  weir__free(fence);
}

weir_status weir__cuda_fence_borrow(weir__cuda_device *device, void *event, weir__cuda_fence **out_fence) {
  *out_fence = NULL;
  CUresult result = weir__cuda_enter(device);
  if (result == CUDA_SUCCESS) {
    result = device->driver->cuEventQuery((CUevent)event);
    weir__cuda_leave(device);
  }
  if (result != CUDA_ERROR_NOT_READY) return weir__cuda_error(device->driver, result, "import event: the CUevent");
  weir__cuda_fence *fence = weir__allocate_zeroed(sizeof *fence);
  if (fence == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "import event: no memory");
  fence->event = (CUevent)event;
  fence->borrowed = true;
  *out_fence = fence;
  return WEIR_OK;
}

weir__external_fence *weir__cuda_marker(weir_device *device) {
  (void)device;
  weir__cuda_fence *fence = weir__allocate_zeroed(sizeof *fence);
  if (fence == NULL) return NULL;
  fence->head.signals = true;
  return &fence->head;
}

bool weir__cuda_fence_is_over(void *user, weir__external_fence *head) {
  weir__cuda_device *device = user;
  const weir__cuda_fence *fence = (const weir__cuda_fence *)head;
  if (device->base.lost != WEIR_OK) {
    head->status = device->base.lost;
    snprintf(head->text, sizeof head->text, "%.*s", (int)sizeof head->text - 1, device->base.lost_text);
    return true;
  }
  CUresult result = device->driver->cuEventQuery(fence->event);
  if (result == CUDA_ERROR_NOT_READY) return false;
  if (result != CUDA_SUCCESS && !weir__cuda_is_sticky(result))
    result = device->driver->cuEventSynchronize(fence->event); // the only other way to know
  if (weir__cuda_is_sticky(result)) {
    weir__cuda_trouble(device, result); // the next look finds the device lost
    return false;
  }
  head->status = result == CUDA_SUCCESS ? WEIR_OK : WEIR_ERROR_TASK_FAILED;
  if (result != CUDA_SUCCESS) weir__cuda_result_text(device->driver, result, head->text, sizeof head->text);
  return true;
}

weir_status weir__cuda_let_stream_wait_for(weir__cuda_device *device, void *stream, const weir__id *tasks,
                                           uint32_t count) {
  weir__cuda_request request = {
      .head = {.answer = weir__cuda_answer}, .stream = (CUstream)stream, .tasks = tasks, .task_count = count};
  if (tasks == NULL || count > 0) weir__requests_ask(&device->base.requests, &device->base.inbox, &request.head);
  return weir__cuda_error(device->driver, request.result, "stream wait");
}

weir_status weir__cuda_let_stream_wait(weir__cuda_device *device, void *stream, weir__id task) {
  return weir__cuda_let_stream_wait_for(device, stream, task == 0 ? NULL : &task, task != 0);
}

weir_status weir__cuda_let_stream_wait_for_fence(const weir__cuda_device *device, void *stream,
                                                 const weir__cuda_fence *fence) {
  CUresult result = weir__cuda_enter(device);
  if (result == CUDA_SUCCESS) {
    result = device->driver->cuStreamWaitEvent((CUstream)stream, fence->event, CU_EVENT_WAIT_DEFAULT);
    weir__cuda_leave(device);
  }
  return weir__cuda_error(device->driver, result, "stream wait");
}
