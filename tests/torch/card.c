// SPDX-License-Identifier: Apache-2.0
//
// Devices, memory, streams, events and graphs of the card that is none.
#include "card.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 8, MOST_STREAMS = 512 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *contexts[MOST_DEVICES];
static void *streams[MOST_STREAMS];
static int stream_devices[MOST_STREAMS];
static unsigned stream_count;
static _Thread_local int device;
static _Thread_local cudaError_t last_error;

cudaError_t card_result(int result) {
  if (result != 0) last_error = (cudaError_t)result;
  return (cudaError_t)result;
}

static int device_count(void) {
  const char *none = getenv("WEIR_TEST_NO_CARD");
  int count = 0;
  if ((none != NULL && none[0] == '1') || cuInit(0) != 0 || cuDeviceGetCount(&count) != 0) return 0;
  return count < MOST_DEVICES ? count : MOST_DEVICES;
}

bool card_enter(void) {
  if (device >= device_count()) return false;
  pthread_mutex_lock(&lock);
  if (contexts[device] == NULL) cuDevicePrimaryCtxRetain(&contexts[device], device);
  pthread_mutex_unlock(&lock);
  void *current = NULL;
  cuCtxGetCurrent(&current);
  if (current != contexts[device]) cuCtxSetCurrent(contexts[device]);
  return true;
}

// Returns from the caller where there is no device.
#define ENTER()                                                                                                        \
  if (!card_enter()) return card_result(cudaErrorNoDevice)

cudaError_t cudaGetLastError(void) {
  cudaError_t result = last_error;
  last_error = cudaSuccess;
  return result;
}

cudaError_t cudaPeekAtLastError(void) {
  return last_error;
}

const char *cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : "cudaError";
}

const char *cudaGetErrorString(cudaError_t error) {
  switch (error) {
  case cudaSuccess:
    return "no error";
  case cudaErrorMemoryAllocation:
    return "out of memory";
  case cudaErrorNoDevice:
    return "no CUDA-capable device is detected";
  case cudaErrorStreamCaptureUnsupported:
    return "operation not permitted when stream is capturing";
  case cudaErrorStreamCaptureInvalidated:
    return "operation failed due to a previous error during capture";
  default:
    return "an error of the card that is none";
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Devices

cudaError_t cudaDriverGetVersion(int *version) {
  return card_result(cuDriverGetVersion(version));
}

cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count) {
  *count = device_count();
  return *count > 0 ? cudaSuccess : card_result(cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int *number) {
  *number = device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int number) {
  if (number < 0 || number >= device_count()) return card_result(cudaErrorInvalidDevice);
  device = number;
  ENTER();
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int number) {
  if (number < 0 || number >= device_count()) return card_result(cudaErrorInvalidDevice);
  memset(properties, 0, sizeof *properties);
  strcpy(properties->name, "no card");
  properties->totalGlobalMem = (size_t)1 << 30;
  properties->sharedMemPerBlock = 48 * 1024;
  properties->sharedMemPerMultiprocessor = 228 * 1024;
  properties->sharedMemPerBlockOptin = 227 * 1024;
  properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->maxBlocksPerMultiProcessor = 32;
  for (int i = 0; i < 3; i++) {
    properties->maxThreadsDim[i] = i < 2 ? 1024 : 64;
    properties->maxGridSize[i] = i == 0 ? 0x7fffffff : 65535;
  }
  properties->major = 9;
  properties->multiProcessorCount = 132;
  properties->l2CacheSize = 50 << 20;
  properties->memoryBusWidth = 5120;
  properties->textureAlignment = 512;
  properties->unifiedAddressing = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int number) {
  if (cuDeviceGetAttribute(value, (int)attribute, number) != 0) *value = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int number) {
  if (size < 13) return card_result(cudaErrorInvalidValue);
  memcpy(text, "0000:00:00.0", 13);
  text[6] = (char)('0' + number);
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int number, int peer) {
  (void)number, (void)peer;
  *can = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) {
  ENTER();
  void *own[MOST_STREAMS];
  unsigned count = 0;
  pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < stream_count; i++)
    if (stream_devices[i] == device) own[count++] = streams[i];
  pthread_mutex_unlock(&lock);
  int result = cuStreamSynchronize(NULL);
  for (unsigned i = 0; i < count && result == 0; i++) result = cuStreamSynchronize(own[i]);
  return card_result(result);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                             unsigned long long flags, enum cudaDriverEntryPointQueryResult *found) {
  (void)version, (void)flags;
  char second[64]; // a version of a function that was changed
  snprintf(second, sizeof second, "%s_v2", symbol);
  *function = dlsym(RTLD_DEFAULT, symbol);
  if (*function == NULL) *function = dlsym(RTLD_DEFAULT, second);
  if (found != NULL) *found = *function != NULL ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return *function != NULL ? cudaSuccess : card_result(cudaErrorNotSupported);
}

// ---------------------------------------------------------------------------------------------------------------
// Memory

cudaError_t cudaMalloc(void **pointer, size_t bytes) {
  ENTER();
  uint64_t address = 0;
  int result = bytes == 0 ? 0 : cuMemAlloc_v2(&address, bytes);
  *pointer = (void *)(uintptr_t)address;
  return card_result(result);
}

cudaError_t cudaFree(void *pointer) {
  ENTER();
  if (pointer == NULL) return cudaSuccess;
  cudaDeviceSynchronize(); // as the runtime does
  return card_result(cuMemFree_v2((uint64_t)(uintptr_t)pointer));
}

cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  ENTER();
  return card_result(cuMemHostAlloc(pointer, bytes, flags & 7));
}

cudaError_t cudaFreeHost(void *pointer) {
  ENTER();
  return card_result(cuMemFreeHost(pointer));
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
  ENTER();
  *total = (size_t)1 << 30;
  *available = *total - stub_live().device_bytes;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
  (void)kind;
  ENTER();
  if (bytes == 0) return cudaSuccess;
  return card_result(cuMemcpyAsync((uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, bytes, stream));
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
  cudaError_t result = cudaMemcpyAsync(to, from, bytes, kind, NULL);
  return result != cudaSuccess ? result : card_result(cuStreamSynchronize(NULL));
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t count, cudaStream_t stream) {
  ENTER();
  if (count == 0) return cudaSuccess;
  return card_result(cuMemsetD8Async((uint64_t)(uintptr_t)to, (unsigned char)value, count, stream));
}

cudaError_t cudaMemset(void *to, int value, size_t count) {
  return cudaMemsetAsync(to, value, count, NULL);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer) {
  ENTER();
  memset(attributes, 0, sizeof *attributes);
  unsigned kind;
  uint64_t address = (uint64_t)(uintptr_t)pointer;
  bool known = cuPointerGetAttribute(&kind, 2, address) == 0; // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
  attributes->type = !known ? cudaMemoryTypeUnregistered : kind == 2 ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
  if (known) cuPointerGetAttribute(&attributes->device, 9, address); // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
  attributes->devicePointer = attributes->type == cudaMemoryTypeDevice ? (void *)(uintptr_t)pointer : NULL;
  return cudaSuccess;
}

// ---------------------------------------------------------------------------------------------------------------
// Streams

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
  ENTER();
  int result = cuStreamCreateWithPriority((void **)stream, flags, priority);
  if (result != 0) return card_result(result);
  pthread_mutex_lock(&lock);
  if (stream_count == MOST_STREAMS) abort();
  stream_devices[stream_count] = device;
  streams[stream_count++] = *stream;
  pthread_mutex_unlock(&lock);
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  ENTER();
  pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < stream_count; i++) {
    if (streams[i] != stream) continue;
    streams[i] = streams[--stream_count];
    stream_devices[i] = stream_devices[stream_count];
    break;
  }
  pthread_mutex_unlock(&lock);
  return card_result(cuStreamDestroy_v2(stream));
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority) {
  (void)stream;
  *priority = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ENTER();
  return card_result(cuStreamSynchronize(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  ENTER();
  return card_result(cuStreamQuery(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  ENTER();
  return card_result(cuStreamWaitEvent(stream, event, flags));
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  ENTER();
  return card_result(cuStreamBeginCapture_v2(stream, (int)mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  ENTER();
  return card_result(cuStreamEndCapture(stream, (void **)graph));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
  ENTER();
  int found = 0;
  int result = cuStreamIsCapturing(stream, &found);
  *status = (enum cudaStreamCaptureStatus)found;
  return card_result(result);
}

static cudaError_t capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                                cudaGraph_t *graph, const cudaGraphNode_t **dependencies,
                                const cudaGraphEdgeData **edges, size_t *count) {
  int found = 0;
  uint64_t number = 0;
  int result = cuStreamGetCaptureInfo_v3(stream, &found, &number, (void **)graph, (void *const **)dependencies,
                                         (const void **)edges, count);
  *status = (enum cudaStreamCaptureStatus)found;
  if (id != NULL) *id = number;
  return card_result(result);
}

#if CUDART_VERSION >= 13000
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                                     cudaGraph_t *graph, const cudaGraphNode_t **dependencies,
                                     const cudaGraphEdgeData **edges, size_t *count) {
  ENTER();
  return capture_info(stream, status, id, graph, dependencies, edges, count);
}
#else
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                                     cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *count) {
  ENTER();
  return capture_info(stream, status, id, graph, dependencies, NULL, count);
}
#endif

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
  int exchanged = (int)*mode;
  int result = cuThreadExchangeStreamCaptureMode(&exchanged);
  *mode = (enum cudaStreamCaptureMode)exchanged;
  return card_result(result);
}

// ---------------------------------------------------------------------------------------------------------------
// Events

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  ENTER();
  return card_result(cuEventCreate((void **)event, flags & 3));
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  ENTER();
  return card_result(cuEventDestroy_v2(event));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  ENTER();
  return card_result(cuEventRecord(event, stream));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return flags == 0 ? cudaEventRecord(event, stream) : card_result(cudaErrorNotSupported);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  ENTER();
  return card_result(cuEventQuery(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  ENTER();
  return card_result(cuEventSynchronize(event));
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
  ENTER();
  return card_result(cuEventElapsedTime(milliseconds, start, end));
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
  return card_result(cuGraphGetNodes(graph, (void **)nodes, count));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return card_result(cuGraphDestroy(graph));
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
  ENTER();
  return card_result(cuGraphInstantiateWithFlags((void **)exec, graph, flags));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  ENTER();
  return card_result(cuGraphExecDestroy(exec));
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  ENTER();
  return card_result(cuGraphLaunch(exec, stream));
}
