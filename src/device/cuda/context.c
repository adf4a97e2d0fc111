// SPDX-License-Identifier: Apache-2.0
//
// The driver's context of a device, the threads in which it is current, and what they do first.
#include "base/error.h"
#include "device/cuda/cuda_device.h"

bool weir__is_cuda(const weir_device *device) {
  return device->ops->code == WEIR__CODE_CUDA;
}

weir_status weir__cuda_check(weir_device *device, const char *what) {
  if (device == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the device is NULL", what);
  if (!weir__is_cuda(device))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %s is no CUDA device", what, device->name);
  return WEIR_OK;
}

CUresult weir__cuda_enter(const weir__cuda_device *device) {
  return device->driver->cuCtxPushCurrent(device->primary);
}

void weir__cuda_leave(const weir__cuda_device *device) {
  CUcontext context;
  device->driver->cuCtxPopCurrent(&context);
}

void weir__cuda_relax_thread(const weir__cuda_device *device) {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  if (device->driver->cuThreadExchangeStreamCaptureMode != NULL)
    device->driver->cuThreadExchangeStreamCaptureMode(&mode);
}

bool weir__cuda_begin_thread(weir__cuda_device *device, _Atomic uint32_t *state,
                             void (*prepare)(weir__cuda_device *device, void *user), void *user) {
  bool good = device->driver->cuCtxSetCurrent(device->primary) == CUDA_SUCCESS;
  weir__cuda_relax_thread(device);
  if (good && prepare != NULL) prepare(device, user);
  atomic_store_explicit(state, good ? WEIR__CUDA_STARTED : WEIR__CUDA_NOT_STARTED, memory_order_release);
  weir__wake(state, 1);
  return good;
}

weir_status weir__cuda_await_thread(_Atomic uint32_t *state, pthread_t thread) {
  uint32_t seen;
  while ((seen = atomic_load_explicit(state, memory_order_acquire)) == WEIR__CUDA_STARTING)
    weir__sleep_on(state, WEIR__CUDA_STARTING, UINT64_MAX);
  if (seen == WEIR__CUDA_STARTED) return WEIR_OK;
  pthread_join(thread, NULL);
  return weir__error(WEIR_ERROR_UNAVAILABLE, "device cuda: a thread cannot use the device's context");
}

void weir__cuda_use_stream(weir__cuda_device *device, uint32_t index) {
  if (device->memory.chunks == NULL) return;
  weir__memory_source memory = weir__arena_source(&device->memory);
  void *bytes = memory.allocate(memory.user, 1);
  CUevent event = weir__cuda_take_event(device);
  CUstream stream = device->streams[index].stream, other = device->streams[(index + 1) % device->queue_count].stream;
  if (bytes != NULL) device->driver->cuMemsetD8Async((CUdeviceptr)(uintptr_t)bytes, 0, 1, stream);
  if (event != NULL && device->driver->cuEventRecord(event, stream) == CUDA_SUCCESS)
    device->driver->cuStreamWaitEvent(other, event, CU_EVENT_WAIT_DEFAULT);
  device->driver->cuStreamSynchronize(stream);
  if (event != NULL) weir__cuda_give_event(device, event);
  if (bytes != NULL) memory.free(memory.user, bytes);
}
