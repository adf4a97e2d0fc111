// SPDX-License-Identifier: Apache-2.0
//
// To be included once in a source, after one of the headers: the list of facts.
#include "cuda_api.h"
#include "device/cuda/numbers.h"

#define SIZE_OF(type) {"sizeof " #type, (long long)sizeof(type)},
#define MEMBER(type, member)                                                                                           \
  {"offset of " #type "." #member, (long long)offsetof(type, member)},                                                 \
      {"size of " #type "." #member, (long long)sizeof(((type *)0)->member)},

// clang-format off
static const cuda_fact FACTS[] = {
  SIZE_OF(CUresult) SIZE_OF(CUdevice) SIZE_OF(CUdeviceptr) SIZE_OF(CUcontext) SIZE_OF(CUmodule) SIZE_OF(CUfunction)
  SIZE_OF(CUstream) SIZE_OF(CUevent) SIZE_OF(CUgraph) SIZE_OF(CUgraphNode) SIZE_OF(CUgraphExec) SIZE_OF(CUarray)
  SIZE_OF(CUkernel) SIZE_OF(CUdevice_attribute) SIZE_OF(CUfunction_attribute) SIZE_OF(CUpointer_attribute)
  SIZE_OF(CUmemorytype) SIZE_OF(CUjit_option) SIZE_OF(nvrtcResult)
  SIZE_OF(nvrtcProgram) SIZE_OF(CUlinkState) SIZE_OF(CUjitInputType)
  SIZE_OF(CUstreamCaptureStatus) SIZE_OF(CUstreamCaptureMode) SIZE_OF(CUgraphEdgeData)
  SIZE_OF(CUDA_KERNEL_NODE_PARAMS)
  MEMBER(CUDA_KERNEL_NODE_PARAMS, func)
  MEMBER(CUDA_KERNEL_NODE_PARAMS, gridDimX)
  MEMBER(CUDA_KERNEL_NODE_PARAMS, gridDimY)
  MEMBER(CUDA_KERNEL_NODE_PARAMS, gridDimZ)
  MEMBER(CUDA_KERNEL_NODE_PARAMS, blockDimX)
  MEMBER(CUDA_KERNEL_NODE_PARAMS, blockDimY)
  MEMBER(CUDA_KERNEL_NODE_PARAMS, blockDimZ)
  MEMBER(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes)
  MEMBER(CUDA_KERNEL_NODE_PARAMS, kernelParams)
  MEMBER(CUDA_KERNEL_NODE_PARAMS, extra)
  MEMBER(CUDA_KERNEL_NODE_PARAMS, kern)
  MEMBER(CUDA_KERNEL_NODE_PARAMS, ctx)
  SIZE_OF(CUDA_MEMCPY3D)
  MEMBER(CUDA_MEMCPY3D, srcXInBytes)
  MEMBER(CUDA_MEMCPY3D, srcY)
  MEMBER(CUDA_MEMCPY3D, srcZ)
  MEMBER(CUDA_MEMCPY3D, srcLOD)
  MEMBER(CUDA_MEMCPY3D, srcMemoryType)
  MEMBER(CUDA_MEMCPY3D, srcHost)
  MEMBER(CUDA_MEMCPY3D, srcDevice)
  MEMBER(CUDA_MEMCPY3D, srcArray)
  MEMBER(CUDA_MEMCPY3D, reserved0)
  MEMBER(CUDA_MEMCPY3D, srcPitch)
  MEMBER(CUDA_MEMCPY3D, srcHeight)
  MEMBER(CUDA_MEMCPY3D, dstXInBytes)
  MEMBER(CUDA_MEMCPY3D, dstY)
  MEMBER(CUDA_MEMCPY3D, dstZ)
  MEMBER(CUDA_MEMCPY3D, dstLOD)
  MEMBER(CUDA_MEMCPY3D, dstMemoryType)
  MEMBER(CUDA_MEMCPY3D, dstHost)
  MEMBER(CUDA_MEMCPY3D, dstDevice)
  MEMBER(CUDA_MEMCPY3D, dstArray)
  MEMBER(CUDA_MEMCPY3D, reserved1)
  MEMBER(CUDA_MEMCPY3D, dstPitch)
  MEMBER(CUDA_MEMCPY3D, dstHeight)
  MEMBER(CUDA_MEMCPY3D, WidthInBytes)
  MEMBER(CUDA_MEMCPY3D, Height)
  MEMBER(CUDA_MEMCPY3D, Depth)
  SIZE_OF(CUDA_MEMSET_NODE_PARAMS)
  MEMBER(CUDA_MEMSET_NODE_PARAMS, dst)
  MEMBER(CUDA_MEMSET_NODE_PARAMS, pitch)
  MEMBER(CUDA_MEMSET_NODE_PARAMS, value)
  MEMBER(CUDA_MEMSET_NODE_PARAMS, elementSize)
  MEMBER(CUDA_MEMSET_NODE_PARAMS, width)
  MEMBER(CUDA_MEMSET_NODE_PARAMS, height)
  SIZE_OF(CUDA_HOST_NODE_PARAMS)
  MEMBER(CUDA_HOST_NODE_PARAMS, fn)
  MEMBER(CUDA_HOST_NODE_PARAMS, userData)
  SIZE_OF(CUlaunchAttributeValue)
  MEMBER(CUlaunchAttributeValue, cooperative)
  MEMBER(CUlaunchAttributeValue, clusterDim)
  SIZE_OF(CUgraphNodeType) SIZE_OF(CUlaunchAttributeID)
#define NUMBER(name, value) {#name, (long long)(name)},
  WEIR__CUDA_RESULTS(NUMBER)
  WEIR__CUDA_DEVICE_ATTRIBUTES(NUMBER)
  WEIR__CUDA_FUNCTION_ATTRIBUTES(NUMBER)
  WEIR__CUDA_POINTER_ATTRIBUTES(NUMBER)
  WEIR__CUDA_MEMORY_TYPES(NUMBER)
  WEIR__CUDA_CAPTURE_STATUSES(NUMBER)
  WEIR__CUDA_CAPTURE_MODES(NUMBER)
  WEIR__CUDA_NODE_TYPES(NUMBER)
  WEIR__CUDA_LAUNCH_ATTRIBUTES(NUMBER)
  WEIR__CUDA_JIT_OPTIONS(NUMBER)
  WEIR__CUDA_JIT_INPUTS(NUMBER)
  WEIR__CUDA_FLAGS(NUMBER)
  WEIR__NVRTC_RESULTS(NUMBER)
#undef NUMBER
};
// clang-format on
