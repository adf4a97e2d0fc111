// SPDX-License-Identifier: Apache-2.0
//
// Functions of the driver that PyTorch and weir.torch call and the stub lacks: with the stub they are libcuda.so.1.
// Addresses that are reserved are those of memory of the stub's, so that it finds out who uses them too late.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "card.h"

enum { CHUNK = 2 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t handles, reserved, mapped; // living ones, and bytes

// What is not given back, for tests: handles, bytes that are reserved, bytes that are mapped.
void card_virtual_memory(uint64_t out[3]) {
  pthread_mutex_lock(&lock);
  out[0] = handles;
  out[1] = reserved;
  out[2] = mapped;
  pthread_mutex_unlock(&lock);
}

static int change(uint64_t *count, uint64_t by) {
  pthread_mutex_lock(&lock);
  *count += by;
  pthread_mutex_unlock(&lock);
  return 0;
}

int cuMemGetAllocationGranularity(size_t *bytes, const void *properties, int option) {
  (void)properties, (void)option;
  *bytes = CHUNK;
  return 0;
}

int cuMemCreate(uint64_t *handle, size_t bytes, const void *properties, uint64_t flags) {
  (void)properties, (void)flags;
  if (bytes % CHUNK != 0) return cudaErrorInvalidValue;
  *handle = 1;
  return change(&handles, 1);
}

int cuMemRelease(uint64_t handle) {
  return handle != 1 ? cudaErrorInvalidValue : change(&handles, (uint64_t)-1);
}

int cuMemAddressReserve(uint64_t *start, size_t bytes, size_t alignment, uint64_t address, uint64_t flags) {
  (void)alignment, (void)address, (void)flags;
  if (bytes == 0 || bytes % CHUNK != 0) return cudaErrorInvalidValue;
  int result = cuMemAlloc_v2(start, bytes);
  return result != 0 ? result : change(&reserved, bytes);
}

int cuMemAddressFree(uint64_t start, size_t bytes) {
  change(&reserved, -(uint64_t)bytes);
  return cuMemFree_v2(start);
}

int cuMemMap(uint64_t start, size_t bytes, size_t offset, uint64_t handle, uint64_t flags) {
  (void)start, (void)offset, (void)flags;
  return handle != 1 ? cudaErrorInvalidValue : change(&mapped, bytes);
}

int cuMemUnmap(uint64_t start, size_t bytes) {
  (void)start;
  return change(&mapped, -(uint64_t)bytes);
}

int cuMemSetAccess(uint64_t start, size_t bytes, const void *access, size_t count) {
  (void)start, (void)bytes, (void)access, (void)count;
  return 0;
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return 0;
}

int cuGraphNodeGetType(void *node, int *type);

// Priorities alone, of kernels: the stub executes nodes in any order that the edges allow.
int cuGraphKernelNodeSetAttribute(void *node, int attribute, const int *value) {
  enum { PRIORITY = 8, KERNEL = 0 };
  int type = -1, result = cuGraphNodeGetType(node, &type);
  if (result != 0) return result;
  return attribute == PRIORITY && type == KERNEL && *value <= 0 && *value >= -5 ? 0 : cudaErrorInvalidValue;
}

int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
  int result = cuMemcpyAsync(to, from, bytes, NULL);
  return result != 0 ? result : cuStreamSynchronize(NULL);
}

int cuStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *id, void **graph, void *const **dependencies,
                              size_t *count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, NULL, count);
}

// That of the stub, or what the environment says.
int cuDriverGetVersion(int *version) {
  const char *text = getenv("WEIR_TEST_DRIVER_VERSION");
  *version = text != NULL ? atoi(text) : 13000;
  return 0;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  (void)device;
  *flags = 0;
  *active = stub_live().contexts > 0;
  return 0;
}

// Functions that PyTorch knows of, and neither this library nor the stub has, end here (make_card.py).
int card_missing(const char *name) {
  fprintf(stderr, "the card that is none lacks %s\n", name);
  return cudaErrorNotSupported;
}
