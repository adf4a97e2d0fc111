// SPDX-License-Identifier: Apache-2.0
//
// The CUDA driver as the benchmarks use it: loaded at run time, its types declared here. Peers must not depend on
// Weir's CUDA device, so this is a loader of its own.
#ifndef WEIR_BENCH_GPU_DRIVER_H
#define WEIR_BENCH_GPU_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef struct gpu_kernel_node {
  void *function;
  unsigned grid[3], block[3], shared_bytes;
  void **parameters, **extra;
  void *kernel, *context;
} gpu_kernel_node; // CUDA_KERNEL_NODE_PARAMS_v2

// name of the symbol, name here, parameters
#define GPU_SYMBOLS(X)                                                                                                 \
  X(cuInit, init, (unsigned))                                                                                          \
  X(cuDeviceGet, device_get, (int *, int))                                                                             \
  X(cuDeviceGetName, device_name, (char *, int, int))                                                                  \
  X(cuDeviceGetAttribute, device_attribute, (int *, int, int))                                                         \
  X(cuDriverGetVersion, version, (int *))                                                                              \
  X(cuDevicePrimaryCtxRetain, primary_retain, (void **, int))                                                          \
  X(cuCtxSetCurrent, set_current, (void *))                                                                            \
  X(cuCtxSynchronize, synchronize, (void))                                                                             \
  X(cuModuleLoadData, module_load, (void **, const void *))                                                            \
  X(cuModuleGetFunction, module_function, (void **, void *, const char *))                                             \
  X(cuFuncSetAttribute, function_attribute, (void *, int, int))                                                        \
  X(cuMemHostAlloc, host_alloc, (void **, size_t, unsigned))                                                           \
  X(cuMemHostGetDevicePointer_v2, host_pointer, (uint64_t *, void *, unsigned))                                        \
  X(cuStreamCreate, stream_create, (void **, unsigned))                                                                \
  X(cuStreamWaitEvent, stream_wait_event, (void *, void *, unsigned))                                                  \
  X(cuEventCreate, event_create, (void **, unsigned))                                                                  \
  X(cuEventRecord, event_record, (void *, void *))                                                                     \
  X(cuLaunchKernel, launch_kernel,                                                                                     \
    (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))          \
  X(cuGraphCreate, graph_create, (void **, unsigned))                                                                  \
  X(cuGraphDestroy, graph_destroy, (void *))                                                                           \
  X(cuGraphAddKernelNode_v2, graph_add_kernel, (void **, void *, void *const *, size_t, const gpu_kernel_node *))      \
  X(cuGraphInstantiateWithFlags, graph_instantiate, (void **, void *, unsigned long long))                             \
  X(cuGraphExecDestroy, exec_destroy, (void *))                                                                        \
  X(cuGraphLaunch, graph_launch, (void *, void *))                                                                     \
  X(cuGetErrorName, error_name, (int, const char **))

typedef struct gpu_driver {
#define GPU_FIELD(symbol, name, parameters) int(*name) parameters;
  GPU_SYMBOLS(GPU_FIELD)
#undef GPU_FIELD
} gpu_driver;

extern gpu_driver gpu;

typedef struct gpu_card {
  char name[128];
  int version, sms;
} gpu_card;

#define GPU_EXIT_NO_CARD 3

// Loads the driver and makes device 0's primary context current. Where there is no card, says why and ends the program
// with GPU_EXIT_NO_CARD.
void gpu_open(gpu_card *out_card);

// Ends the program with a message when a call of the driver failed: a benchmark has no use for what it gave until then.
#define GPU_CHECK(call) gpu_check((call), #call, __FILE__, __LINE__)
void gpu_check(int result, const char *call, const char *file, int line);

#endif // WEIR_BENCH_GPU_DRIVER_H
