// SPDX-License-Identifier: Apache-2.0
//
// The functions that Weir calls of the CUDA driver and of NVRTC: X(member, symbol, need, parameters). `member` is the
// name in weir__cuda_driver or weir__nvrtc, `symbol` the one that is looked up in the library, `need` REQUIRED or
// OPTIONAL (the member is NULL if the library lacks it). All return CUresult or nvrtcResult.
#ifndef WEIR_DEVICE_CUDA_SYMBOLS_H
#define WEIR_DEVICE_CUDA_SYMBOLS_H

#include "device/cuda/api.h"

// clang-format off
#define WEIR__CUDA_SYMBOLS(X) \
  X(cuInit, cuInit, REQUIRED, (unsigned int flags)) \
  X(cuDriverGetVersion, cuDriverGetVersion, REQUIRED, (int *version)) \
  X(cuGetErrorName, cuGetErrorName, REQUIRED, (CUresult result, const char **name)) \
  X(cuGetErrorString, cuGetErrorString, REQUIRED, (CUresult result, const char **text)) \
  \
  X(cuDeviceGetCount, cuDeviceGetCount, REQUIRED, (int *count)) \
  X(cuDeviceGet, cuDeviceGet, REQUIRED, (CUdevice *device, int ordinal)) \
  X(cuDeviceGetName, cuDeviceGetName, REQUIRED, (char *name, int size, CUdevice device)) \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute, REQUIRED, (int *value, CUdevice_attribute attribute, CUdevice device)) \
  X(cuDeviceTotalMem, cuDeviceTotalMem_v2, REQUIRED, (size_t *bytes, CUdevice device)) \
  X(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, REQUIRED, (int *can, CUdevice device, CUdevice peer)) \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, REQUIRED, (CUcontext *context, CUdevice device)) \
  X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, REQUIRED, (CUdevice device)) \
  \
  X(cuCtxPushCurrent, cuCtxPushCurrent_v2, REQUIRED, (CUcontext context)) \
  X(cuCtxPopCurrent, cuCtxPopCurrent_v2, REQUIRED, (CUcontext *context)) \
  X(cuCtxSetCurrent, cuCtxSetCurrent, REQUIRED, (CUcontext context)) \
  X(cuCtxGetCurrent, cuCtxGetCurrent, REQUIRED, (CUcontext *context)) \
  X(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, REQUIRED, (CUcontext peer, unsigned int flags)) \
  \
  X(cuMemAlloc, cuMemAlloc_v2, REQUIRED, (CUdeviceptr *pointer, size_t bytes)) \
  X(cuMemFree, cuMemFree_v2, REQUIRED, (CUdeviceptr pointer)) \
  X(cuMemGetAddressRange, cuMemGetAddressRange_v2, REQUIRED, (CUdeviceptr *base, size_t *bytes, CUdeviceptr pointer)) \
  X(cuMemHostAlloc, cuMemHostAlloc, REQUIRED, (void **pointer, size_t bytes, unsigned int flags)) \
  X(cuMemFreeHost, cuMemFreeHost, REQUIRED, (void *pointer)) \
  X(cuPointerGetAttribute, cuPointerGetAttribute, REQUIRED, \
    (void *value, CUpointer_attribute attribute, CUdeviceptr pointer)) \
  X(cuMemcpyAsync, cuMemcpyAsync, REQUIRED, \
    (CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream)) \
  X(cuMemsetD8Async, cuMemsetD8Async, REQUIRED, \
    (CUdeviceptr destination, unsigned char value, size_t bytes, CUstream stream)) \
  X(cuMemsetD32Async, cuMemsetD32Async, REQUIRED, \
    (CUdeviceptr destination, unsigned int value, size_t count, CUstream stream)) \
  \
  X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, REQUIRED, \
    (CUstream *stream, unsigned int flags, int priority)) \
  X(cuStreamDestroy, cuStreamDestroy_v2, REQUIRED, (CUstream stream)) \
  X(cuStreamIsCapturing, cuStreamIsCapturing, OPTIONAL, (CUstream stream, CUstreamCaptureStatus *status)) \
  X(cuStreamBeginCapture, cuStreamBeginCapture_v2, OPTIONAL, (CUstream stream, CUstreamCaptureMode mode)) \
  X(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, OPTIONAL, \
    (CUstream stream, CUgraph graph, const CUgraphNode *dependencies, const CUgraphEdgeData *edges, \
     size_t dependency_count, CUstreamCaptureMode mode)) \
  X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v3, OPTIONAL, \
    (CUstream stream, CUstreamCaptureStatus *status, uint64_t *id, CUgraph *graph, const CUgraphNode **dependencies, \
     const CUgraphEdgeData **edges, size_t *dependency_count)) \
  X(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_v2, OPTIONAL, \
    (CUstream stream, CUgraphNode *dependencies, const CUgraphEdgeData *edges, size_t dependency_count, \
     unsigned int flags)) \
  X(cuStreamEndCapture, cuStreamEndCapture, OPTIONAL, (CUstream stream, CUgraph *graph)) \
  X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, OPTIONAL, (CUstreamCaptureMode *mode)) \
  X(cuStreamWaitEvent, cuStreamWaitEvent, REQUIRED, (CUstream stream, CUevent event, unsigned int flags)) \
  X(cuStreamQuery, cuStreamQuery, REQUIRED, (CUstream stream)) \
  X(cuStreamSynchronize, cuStreamSynchronize, REQUIRED, (CUstream stream)) \
  X(cuEventCreate, cuEventCreate, REQUIRED, (CUevent *event, unsigned int flags)) \
  X(cuEventDestroy, cuEventDestroy_v2, REQUIRED, (CUevent event)) \
  X(cuEventRecord, cuEventRecord, REQUIRED, (CUevent event, CUstream stream)) \
  X(cuEventQuery, cuEventQuery, REQUIRED, (CUevent event)) \
  X(cuEventSynchronize, cuEventSynchronize, REQUIRED, (CUevent event)) \
  X(cuEventElapsedTime, cuEventElapsedTime, REQUIRED, (float *milliseconds, CUevent start, CUevent end)) \
  \
  X(cuModuleLoadDataEx, cuModuleLoadDataEx, REQUIRED, \
    (CUmodule *module, const void *image, unsigned int option_count, CUjit_option *options, void **values)) \
  X(cuModuleUnload, cuModuleUnload, REQUIRED, (CUmodule module)) \
  X(cuModuleGetFunction, cuModuleGetFunction, REQUIRED, (CUfunction *function, CUmodule module, const char *name)) \
  X(cuModuleGetGlobal, cuModuleGetGlobal_v2, OPTIONAL, \
    (CUdeviceptr *pointer, size_t *bytes, CUmodule module, const char *name)) \
  X(cuLinkCreate, cuLinkCreate_v2, OPTIONAL, \
    (unsigned int option_count, CUjit_option *options, void **values, CUlinkState *state)) \
  X(cuLinkAddData, cuLinkAddData_v2, OPTIONAL, \
    (CUlinkState state, CUjitInputType type, void *data, size_t bytes, const char *name, unsigned int option_count, \
     CUjit_option *options, void **values)) \
  X(cuLinkComplete, cuLinkComplete, OPTIONAL, (CUlinkState state, void **image, size_t *bytes)) \
  X(cuLinkDestroy, cuLinkDestroy, OPTIONAL, (CUlinkState state)) \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor, OPTIONAL, \
    (int *blocks, CUfunction function, int threads, size_t shared_bytes)) \
  X(cuFuncGetAttribute, cuFuncGetAttribute, REQUIRED, \
    (int *value, CUfunction_attribute attribute, CUfunction function)) \
  X(cuFuncSetAttribute, cuFuncSetAttribute, REQUIRED, \
    (CUfunction function, CUfunction_attribute attribute, int value)) \
  X(cuFuncGetParamInfo, cuFuncGetParamInfo, OPTIONAL, \
    (CUfunction function, size_t index, size_t *offset, size_t *bytes)) \
  X(cuLaunchKernel, cuLaunchKernel, REQUIRED, \
    (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x, \
     unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, CUstream stream, void **parameters, \
     void **extra)) \
  \
  X(cuGraphCreate, cuGraphCreate, REQUIRED, (CUgraph *graph, unsigned int flags)) \
  X(cuGraphDestroy, cuGraphDestroy, REQUIRED, (CUgraph graph)) \
  X(cuGraphAddKernelNode, cuGraphAddKernelNode_v2, REQUIRED, \
    (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t dependency_count, \
     const CUDA_KERNEL_NODE_PARAMS *parameters)) \
  X(cuGraphAddEmptyNode, cuGraphAddEmptyNode, REQUIRED, \
    (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t dependency_count)) \
  X(cuGraphAddMemcpyNode, cuGraphAddMemcpyNode, REQUIRED, \
    (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t dependency_count, \
     const CUDA_MEMCPY3D *parameters, CUcontext context)) \
  X(cuGraphAddMemsetNode, cuGraphAddMemsetNode, REQUIRED, \
    (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t dependency_count, \
     const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext context)) \
  X(cuGraphAddChildGraphNode, cuGraphAddChildGraphNode, OPTIONAL, \
    (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t dependency_count, CUgraph child)) \
  X(cuGraphGetNodes, cuGraphGetNodes, OPTIONAL, (CUgraph graph, CUgraphNode *nodes, size_t *count)) \
  X(cuGraphExecChildGraphNodeSetParams, cuGraphExecChildGraphNodeSetParams, OPTIONAL, \
    (CUgraphExec exec, CUgraphNode node, CUgraph child)) \
  X(cuGraphGetEdges, cuGraphGetEdges_v2, OPTIONAL, \
    (CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges, size_t *count)) \
  X(cuGraphAddDependencies, cuGraphAddDependencies_v2, OPTIONAL, \
    (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edges, size_t count)) \
  X(cuGraphRemoveDependencies, cuGraphRemoveDependencies_v2, OPTIONAL, \
    (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edges, size_t count)) \
  X(cuGraphClone, cuGraphClone, OPTIONAL, (CUgraph *clone, CUgraph graph)) \
  X(cuGraphNodeGetType, cuGraphNodeGetType, OPTIONAL, (CUgraphNode node, CUgraphNodeType *type)) \
  X(cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams_v2, OPTIONAL, \
    (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *parameters)) \
  X(cuGraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute, OPTIONAL, \
    (CUgraphNode node, CUlaunchAttributeID attribute, CUlaunchAttributeValue *value)) \
  X(cuGraphKernelNodeCopyAttributes, cuGraphKernelNodeCopyAttributes, OPTIONAL, \
    (CUgraphNode destination, CUgraphNode source)) \
  X(cuGraphMemcpyNodeGetParams, cuGraphMemcpyNodeGetParams, OPTIONAL, (CUgraphNode node, CUDA_MEMCPY3D *parameters)) \
  X(cuGraphMemsetNodeGetParams, cuGraphMemsetNodeGetParams, OPTIONAL, \
    (CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *parameters)) \
  X(cuGraphHostNodeGetParams, cuGraphHostNodeGetParams, OPTIONAL, \
    (CUgraphNode node, CUDA_HOST_NODE_PARAMS *parameters)) \
  X(cuGraphAddHostNode, cuGraphAddHostNode, OPTIONAL, \
    (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t dependency_count, \
     const CUDA_HOST_NODE_PARAMS *parameters)) \
  X(cuGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph, OPTIONAL, (CUgraphNode node, CUgraph *graph)) \
  X(cuFuncGetName, cuFuncGetName, OPTIONAL, (const char **name, CUfunction function)) \
  X(cuKernelGetFunction, cuKernelGetFunction, OPTIONAL, (CUfunction *function, CUkernel kernel)) \
  X(cuGraphAddEventRecordNode, cuGraphAddEventRecordNode, REQUIRED, \
    (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t dependency_count, CUevent event)) \
  X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, REQUIRED, \
    (CUgraphExec *exec, CUgraph graph, unsigned long long flags)) \
  X(cuGraphExecDestroy, cuGraphExecDestroy, REQUIRED, (CUgraphExec exec)) \
  X(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v2, REQUIRED, \
    (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *parameters)) \
  X(cuGraphExecMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams, REQUIRED, \
    (CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *parameters, CUcontext context)) \
  X(cuGraphExecMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams, REQUIRED, \
    (CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext context)) \
  X(cuGraphUpload, cuGraphUpload, REQUIRED, (CUgraphExec exec, CUstream stream)) \
  X(cuGraphLaunch, cuGraphLaunch, REQUIRED, (CUgraphExec exec, CUstream stream))

#define WEIR__NVRTC_SYMBOLS(X) \
  X(nvrtcVersion, nvrtcVersion, REQUIRED, (int *major, int *minor)) \
  X(nvrtcCreateProgram, nvrtcCreateProgram, REQUIRED, \
    (nvrtcProgram *program, const char *source, const char *name, int header_count, const char *const *headers, \
     const char *const *include_names)) \
  X(nvrtcCompileProgram, nvrtcCompileProgram, REQUIRED, \
    (nvrtcProgram program, int option_count, const char *const *options)) \
  X(nvrtcGetCUBINSize, nvrtcGetCUBINSize, REQUIRED, (nvrtcProgram program, size_t *bytes)) \
  X(nvrtcGetCUBIN, nvrtcGetCUBIN, REQUIRED, (nvrtcProgram program, char *cubin)) \
  X(nvrtcGetPTXSize, nvrtcGetPTXSize, REQUIRED, (nvrtcProgram program, size_t *bytes)) \
  X(nvrtcGetPTX, nvrtcGetPTX, REQUIRED, (nvrtcProgram program, char *ptx)) \
  X(nvrtcGetProgramLogSize, nvrtcGetProgramLogSize, REQUIRED, (nvrtcProgram program, size_t *bytes)) \
  X(nvrtcGetProgramLog, nvrtcGetProgramLog, REQUIRED, (nvrtcProgram program, char *log)) \
  X(nvrtcDestroyProgram, nvrtcDestroyProgram, REQUIRED, (nvrtcProgram *program)) \
  X(nvrtcGetSupportedArchs, nvrtcGetSupportedArchs, REQUIRED, (int *architectures)) \
  X(nvrtcGetNumSupportedArchs, nvrtcGetNumSupportedArchs, REQUIRED, (int *count))
// clang-format on

#endif // WEIR_DEVICE_CUDA_SYMBOLS_H
