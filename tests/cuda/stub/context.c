// SPDX-License-Identifier: Apache-2.0
//
// Devices and their primary contexts, and the stack of current contexts of each thread.
#include <stdio.h>
#include <string.h>

#include "internal.h"

enum { STACK = 32 };

static struct CUctx_st contexts[STUB_MAX_DEVICES];
static _Thread_local CUcontext stack[STACK];
static _Thread_local unsigned depth;

CUcontext stub_current(void) {
  return depth == 0 ? NULL : stack[depth - 1];
}

void stub_context_lose(CUcontext context, CUresult result) {
  if (context->fault != CUDA_SUCCESS) return;
  context->fault = result;
  __atomic_store_n(&context->lost, true, __ATOMIC_RELEASE);
}

CUcontext stub_context_of(int device) {
  return &contexts[device];
}

void stub_context_reset(void) {
  for (int i = 0; i < STUB_MAX_DEVICES; i++) {
    memset(&contexts[i], 0, sizeof contexts[i]);
    contexts[i].device = i;
    contexts[i].legacy.context = &contexts[i];
    contexts[i].legacy.blocking = true;
  }
}

uint64_t stub_context_live(void) {
  uint64_t live = 0;
  for (int i = 0; i < STUB_MAX_DEVICES; i++) live += contexts[i].retained > 0;
  return live;
}

bool stub_context_check(CUcontext context, const char *function) {
  for (int i = 0; i < STUB_MAX_DEVICES; i++)
    if (context == &contexts[i] && context->retained > 0) return true;
  stub_violation("%s: %p is not a context that is retained", function, (void *)context);
  return false;
}

static bool device_valid(CUdevice device) {
  return device >= 0 && (uint32_t)device < stub.options.devices;
}

CUresult cuInit(unsigned int flags) {
  STUB_ENTER(cuInit, STUB_EARLY);
  if (flags != 0) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  stub.initialized = true;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuDriverGetVersion(int *version) {
  STUB_ENTER(cuDriverGetVersion, STUB_EARLY);
  *version = 13000;
  return stub_leave(CUDA_SUCCESS);
}

static const struct {
  CUresult result;
  const char *name;
} results[] = {
#define STUB_RESULT(name, value) {name, #name},
    WEIR__CUDA_RESULTS(STUB_RESULT)
#undef STUB_RESULT
};

CUresult cuGetErrorName(CUresult result, const char **name) {
  STUB_ENTER(cuGetErrorName, STUB_EARLY | STUB_BY_NAME);
  *name = NULL;
  for (size_t i = 0; i < sizeof results / sizeof *results; i++)
    if (results[i].result == result) *name = results[i].name;
  return stub_leave(*name != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGetErrorString(CUresult result, const char **text) {
  CUresult known = cuGetErrorName(result, text);
  if (known == CUDA_SUCCESS) *text = "as the stub driver was told";
  return known;
}

CUresult cuDeviceGetCount(int *count) {
  STUB_ENTER(cuDeviceGetCount, STUB_PLAIN);
  *count = (int)stub.options.devices;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  STUB_ENTER(cuDeviceGet, STUB_PLAIN);
  if (!device_valid(ordinal)) return stub_leave(CUDA_ERROR_INVALID_DEVICE);
  *device = ordinal;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
  STUB_ENTER(cuDeviceGetName, STUB_PLAIN);
  if (!device_valid(device) || size <= 0) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  snprintf(name, (size_t)size, "stub");
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  STUB_ENTER(cuDeviceTotalMem_v2, STUB_PLAIN);
  if (!device_valid(device)) return stub_leave(CUDA_ERROR_INVALID_DEVICE);
  *bytes = stub.options.memory;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  static const struct {
    CUdevice_attribute attribute;
    int value;
  } attributes[] = {
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, STUB_SHARED_BYTES},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, STUB_SHARED_OPTIN_BYTES},
  };
  STUB_ENTER(cuDeviceGetAttribute, STUB_PLAIN);
  if (!device_valid(device)) return stub_leave(CUDA_ERROR_INVALID_DEVICE);
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
    if (attributes[i].attribute != attribute) continue;
    *value = attributes[i].value;
    return stub_leave(CUDA_SUCCESS);
  }
  return stub_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
  STUB_ENTER(cuDeviceCanAccessPeer, STUB_PLAIN);
  if (!device_valid(device) || !device_valid(peer)) return stub_leave(CUDA_ERROR_INVALID_DEVICE);
  *can = device != peer && !stub.options.no_peers;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  STUB_ENTER(cuDevicePrimaryCtxRetain, STUB_PLAIN);
  if (!device_valid(device)) return stub_leave(CUDA_ERROR_INVALID_DEVICE);
  contexts[device].retained++;
  *context = &contexts[device];
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  STUB_ENTER(cuDevicePrimaryCtxRelease_v2, STUB_RELEASE);
  if (!device_valid(device)) return stub_leave(CUDA_ERROR_INVALID_DEVICE);
  CUcontext context = &contexts[device];
  if (context->retained == 0) {
    stub_violation("cuDevicePrimaryCtxRelease: device %d is not retained", device);
    return stub_leave(CUDA_ERROR_INVALID_CONTEXT);
  }
  if (--context->retained > 0) return stub_leave(CUDA_SUCCESS);
  stub_live_objects left = {0};
  stub_memory_count(&left);
  uint64_t objects = stub_object_live(STUB_STREAM) + stub_object_live(STUB_EVENT) + stub_object_live(STUB_MODULE) +
                     left.device_allocations + left.pinned;
  if (objects > 0 && stub_context_live() == 0)
    stub_violation("the last context was released with %llu streams, %llu events, %llu modules, %llu allocations and "
                   "%llu ranges of pinned memory",
                   (unsigned long long)stub_object_live(STUB_STREAM), (unsigned long long)stub_object_live(STUB_EVENT),
                   (unsigned long long)stub_object_live(STUB_MODULE), (unsigned long long)left.device_allocations,
                   (unsigned long long)left.pinned);
  stub_context_lose(context, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  stub_drain(context);
  stub_memory_drop_context(device);
  context->fault = CUDA_SUCCESS;
  __atomic_store_n(&context->lost, false, __ATOMIC_RELEASE);
  memset(context->peers, 0, sizeof context->peers);
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  STUB_ENTER(cuCtxPushCurrent_v2, STUB_BY_NAME);
  if (!stub_context_check(context, "cuCtxPushCurrent")) return stub_leave(CUDA_ERROR_INVALID_CONTEXT);
  if (depth == STACK) {
    stub_violation("cuCtxPushCurrent: %d contexts were pushed and not popped", STACK);
    return stub_leave(CUDA_ERROR_OUT_OF_MEMORY);
  }
  stack[depth++] = context;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  STUB_ENTER(cuCtxPopCurrent_v2, STUB_RELEASE | STUB_BY_NAME);
  if (depth == 0) {
    stub_violation("cuCtxPopCurrent: nothing was pushed");
    return stub_leave(CUDA_ERROR_INVALID_CONTEXT);
  }
  depth--;
  if (context != NULL) *context = stack[depth];
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuCtxSetCurrent(CUcontext context) {
  STUB_ENTER(cuCtxSetCurrent, STUB_BY_NAME);
  if (context == NULL) {
    if (depth > 0) depth--;
    return stub_leave(CUDA_SUCCESS);
  }
  if (!stub_context_check(context, "cuCtxSetCurrent")) return stub_leave(CUDA_ERROR_INVALID_CONTEXT);
  if (depth == 0) depth = 1;
  stack[depth - 1] = context;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  STUB_ENTER(cuCtxGetCurrent, STUB_PLAIN);
  *context = stub_current();
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  STUB_ENTER(cuCtxEnablePeerAccess, STUB_CONTEXT);
  if (flags != 0) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  if (!stub_context_check(peer, "cuCtxEnablePeerAccess") || peer == stub_current())
    return stub_leave(CUDA_ERROR_INVALID_CONTEXT);
  if (stub.options.no_peers) return stub_leave(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  if (stub_current()->peers[peer->device]) return stub_leave(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  stub_current()->peers[peer->device] = true;
  return stub_leave(CUDA_SUCCESS);
}
