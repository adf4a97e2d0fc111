// SPDX-License-Identifier: Apache-2.0
//
// What Weir uses of the CUDA driver's and NVRTC's binary interfaces: types, numbers and structs, under the names that
// the vendor's headers give them. Nothing of CUDA is needed to build Weir, and this header must not be mixed with
// <cuda.h> in one source; tests/cuda/test_cuda_api.c compares both. The functions are in symbols.h.
#ifndef WEIR_DEVICE_CUDA_API_H
#define WEIR_DEVICE_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

#include "device/cuda/numbers.h"

#define WEIR__CUDA_NUMBER(name, value) name = value,
typedef enum CUresult { WEIR__CUDA_RESULTS(WEIR__CUDA_NUMBER) } CUresult;
typedef enum CUdevice_attribute { WEIR__CUDA_DEVICE_ATTRIBUTES(WEIR__CUDA_NUMBER) } CUdevice_attribute;
typedef enum CUfunction_attribute { WEIR__CUDA_FUNCTION_ATTRIBUTES(WEIR__CUDA_NUMBER) } CUfunction_attribute;
typedef enum CUpointer_attribute { WEIR__CUDA_POINTER_ATTRIBUTES(WEIR__CUDA_NUMBER) } CUpointer_attribute;
typedef enum CUmemorytype { WEIR__CUDA_MEMORY_TYPES(WEIR__CUDA_NUMBER) } CUmemorytype;
typedef enum CUstreamCaptureStatus { WEIR__CUDA_CAPTURE_STATUSES(WEIR__CUDA_NUMBER) } CUstreamCaptureStatus;
typedef enum CUstreamCaptureMode { WEIR__CUDA_CAPTURE_MODES(WEIR__CUDA_NUMBER) } CUstreamCaptureMode;
typedef enum CUgraphNodeType { WEIR__CUDA_NODE_TYPES(WEIR__CUDA_NUMBER) } CUgraphNodeType;
typedef enum CUlaunchAttributeID { WEIR__CUDA_LAUNCH_ATTRIBUTES(WEIR__CUDA_NUMBER) } CUlaunchAttributeID;
typedef enum CUjit_option { WEIR__CUDA_JIT_OPTIONS(WEIR__CUDA_NUMBER) } CUjit_option;
typedef enum CUjitInputType { WEIR__CUDA_JIT_INPUTS(WEIR__CUDA_NUMBER) } CUjitInputType;
enum { WEIR__CUDA_FLAGS(WEIR__CUDA_NUMBER) };
typedef enum nvrtcResult { WEIR__NVRTC_RESULTS(WEIR__CUDA_NUMBER) } nvrtcResult;
#undef WEIR__CUDA_NUMBER

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUkern_st *CUkernel;
typedef struct CUlinkState_st *CUlinkState;
typedef struct CUarray_st *CUarray;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct _nvrtcProgram *nvrtcProgram;

typedef struct CUgraphEdgeData_st {
  unsigned char from_port, to_port, type;
  unsigned char reserved[5];
} CUgraphEdgeData;

typedef struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction func;
  unsigned int gridDimX, gridDimY, gridDimZ;
  unsigned int blockDimX, blockDimY, blockDimZ;
  unsigned int sharedMemBytes;
  void **kernelParams;
  void **extra;
  CUkernel kern;
  CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;

typedef struct CUDA_MEMCPY3D {
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  CUmemorytype srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  void *reserved0; // NULL
  size_t srcPitch, srcHeight;
  size_t dstXInBytes, dstY, dstZ, dstLOD;
  CUmemorytype dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  void *reserved1; // NULL
  size_t dstPitch, dstHeight;
  size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;

typedef struct CUDA_MEMSET_NODE_PARAMS {
  CUdeviceptr dst;
  size_t pitch;
  unsigned int value;
  unsigned int elementSize;
  size_t width; // elements
  size_t height;
} CUDA_MEMSET_NODE_PARAMS;

typedef struct CUDA_HOST_NODE_PARAMS {
  void (*fn)(void *user);
  void *userData;
} CUDA_HOST_NODE_PARAMS;

typedef union CUlaunchAttributeValue {
  char pad[64];
  int cooperative;
  struct {
    unsigned int x, y, z;
  } clusterDim;
  long long alignment;
} CUlaunchAttributeValue;

#endif // WEIR_DEVICE_CUDA_API_H
