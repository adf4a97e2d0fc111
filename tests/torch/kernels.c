// SPDX-License-Identifier: Apache-2.0
//
// Kernels of the card that is none: compiled programs register them by the address of a function of the host. Each
// becomes a function of the stub's when it is launched for the first time; it has no parameters, and does nothing.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "card.h"

enum { SLOTS = 1 << 18, NAME = 100, DEVICES = 8 };

typedef struct kernel {
  const void *host;
  const char *name;
  void *functions[DEVICES]; // of the stub; NULL: not launched there yet
} kernel;

typedef struct configuration {
  dim3 grid, block;
  size_t shared_bytes;
  void *stream;
} configuration;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kernel kernels[SLOTS];
static unsigned kernel_count;
static _Thread_local configuration configurations[8];
static _Thread_local unsigned depth;

// The kernel, or the free slot for it. The lock is held.
static kernel *slot_of(const void *host) {
  size_t at = (size_t)((uintptr_t)host * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SLOTS;
  while (kernels[at].host != NULL && kernels[at].host != host) at = (at + 1) % SLOTS;
  return &kernels[at];
}

static void nothing(const stub_launch *launch) {
  (void)launch;
}

// Makes the stub's function: all with the first 100 characters of a name in common are told apart by a number.
static void make_function(kernel *made, int device) {
  char name[NAME + 20], image[NAME + 60];
  snprintf(name, sizeof name, "%.*s_%u", NAME, made->name, (unsigned)(made - kernels));
  snprintf(image, sizeof image, "STUB\n%s 1024\n", name);
  stub_register(name, nothing);
  void *module;
  if (cuModuleLoadDataEx(&module, image, 0, NULL, NULL) != 0 ||
      cuModuleGetFunction(&made->functions[device], module, name) != 0)
    abort();
}

static cudaError_t launch(kernel *launched, dim3 grid, dim3 block, size_t shared_bytes, void *stream) {
  if (!card_enter()) return card_result(cudaErrorNoDevice);
  if (launched == NULL || launched->host == NULL) return card_result(cudaErrorInvalidDeviceFunction);
  int device;
  cudaGetDevice(&device);
  pthread_mutex_lock(&lock);
  if (launched->functions[device] == NULL) make_function(launched, device);
  pthread_mutex_unlock(&lock);
  void *none = NULL;
  size_t most = 48 * 1024;
  return card_result(cuLaunchKernel(launched->functions[device], grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                    (unsigned)(shared_bytes < most ? shared_bytes : most), stream, &none, NULL));
}

void **__cudaRegisterFatBinary(void *binary) {
  return (void **)binary;
}

void __cudaRegisterFatBinaryEnd(void **binary) {
  (void)binary;
}

void __cudaUnregisterFatBinary(void **binary) {
  (void)binary;
}

char __cudaInitModule(void **binary) {
  (void)binary;
  return 1;
}

void __cudaRegisterVar(void **binary, char *host, char *address, const char *name, int external, size_t bytes,
                       int constant, int global) {
  (void)binary, (void)host, (void)address, (void)name, (void)external, (void)bytes, (void)constant, (void)global;
}

void __cudaRegisterFunction(void **binary, const char *host, char *function, const char *name, int limit, void *thread,
                            void *block, void *block_size, void *grid_size, int *warp) {
  (void)binary, (void)function, (void)limit, (void)thread, (void)block, (void)block_size, (void)grid_size, (void)warp;
  pthread_mutex_lock(&lock);
  if (++kernel_count > SLOTS / 2) abort();
  *slot_of(host) = (kernel){.host = host, .name = name};
  pthread_mutex_unlock(&lock);
}

cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *host) {
  pthread_mutex_lock(&lock);
  *out = (cudaKernel_t)slot_of(host);
  pthread_mutex_unlock(&lock);
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t launched, dim3 grid, dim3 block, void **args, size_t shared_bytes,
                               cudaStream_t stream) {
  (void)args;
  return launch((kernel *)launched, grid, block, shared_bytes, stream);
}

cudaError_t cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **args, size_t shared_bytes,
                             cudaStream_t stream) {
  cudaKernel_t found;
  __cudaGetKernel(&found, host);
  return __cudaLaunchKernel(found, grid, block, args, shared_bytes, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *host, void **args) {
  return cudaLaunchKernel(host, config->gridDim, config->blockDim, args, config->dynamicSmemBytes, config->stream);
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream) {
  if (depth == sizeof configurations / sizeof *configurations) return 1;
  configurations[depth++] = (configuration){grid, block, shared_bytes, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream) {
  if (depth == 0) return card_result(cudaErrorMissingConfiguration);
  const configuration *last = &configurations[--depth];
  *grid = last->grid;
  *block = last->block;
  *shared_bytes = last->shared_bytes;
  *(void **)stream = last->stream;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *host) {
  (void)host;
  memset(attributes, 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->binaryVersion = attributes->ptxVersion = 90;
  attributes->maxDynamicSharedSizeBytes = 48 * 1024;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *host, enum cudaFuncAttribute attribute, int value) {
  (void)host, (void)attribute, (void)value;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host, int block,
                                                                   size_t shared_bytes, unsigned flags) {
  (void)host, (void)block, (void)shared_bytes, (void)flags;
  *blocks = 2;
  return cudaSuccess;
}
