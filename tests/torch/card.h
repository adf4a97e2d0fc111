// SPDX-License-Identifier: Apache-2.0
//
// A CUDA card for PyTorch that is none: a CUDA runtime (libcudart.so) on the driver without a card of tests/cuda/stub.
//
// A process that has loaded it before PyTorch has PyTorch's own allocator, streams, events, captures and graphs, as with
// a card: operators are dispatched and their kernels launched as ever. Copies and memsets have their effect. Kernels have
// none, since their code is for a card: what they would write keeps the contents that it has. cuBLAS and cuDNN have
// runtimes of their own, and so do not work.
//
// Driver.c has the functions of the driver that the stub lacks.
#ifndef WEIR_TESTS_TORCH_CARD_H
#define WEIR_TESTS_TORCH_CARD_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "stub.h"

// The stub's functions that are used; CUDA's header of the driver is not included, for it has other names for some.
int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuCtxGetCurrent(void **context);
int cuMemAlloc_v2(uint64_t *pointer, size_t bytes);
int cuMemFree_v2(uint64_t pointer);
int cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags);
int cuMemFreeHost(void *pointer);
int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *stream);
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void *stream);
int cuPointerGetAttribute(void *value, int attribute, uint64_t pointer);
int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority);
int cuStreamDestroy_v2(void *stream);
int cuStreamSynchronize(void *stream);
int cuStreamQuery(void *stream);
int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, void **graph);
int cuStreamIsCapturing(void *stream, int *status);
int cuStreamGetCaptureInfo_v3(void *stream, int *status, uint64_t *id, void **graph, void *const **dependencies,
                              const void **edges, size_t *count);
int cuThreadExchangeStreamCaptureMode(int *mode);
int cuEventCreate(void **event, unsigned flags);
int cuEventDestroy_v2(void *event);
int cuEventRecord(void *event, void *stream);
int cuEventQuery(void *event);
int cuEventSynchronize(void *event);
int cuEventElapsedTime(float *milliseconds, void *start, void *end);
int cuGraphGetNodes(void *graph, void **nodes, size_t *count);
int cuGraphDestroy(void *graph);
int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags);
int cuGraphExecDestroy(void *exec);
int cuGraphLaunch(void *exec, void *stream);
int cuModuleLoadDataEx(void **module, const void *image, unsigned count, void *options, void **values);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **parameters,
                   void **extra);

// Makes the device of this thread current. False: there is none.
bool card_enter(void);

// The runtime's result for one of the driver's, which have the same numbers; it is this thread's last error.
cudaError_t card_result(int result);

#endif // WEIR_TESTS_TORCH_CARD_H
