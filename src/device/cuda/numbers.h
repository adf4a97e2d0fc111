// SPDX-License-Identifier: Apache-2.0
//
// The numbers that Weir uses of the CUDA driver's and NVRTC's binary interfaces, as lists of X(name, value): the types
// in api.h and their comparison with the vendor's header are made of them.
#ifndef WEIR_DEVICE_CUDA_NUMBERS_H
#define WEIR_DEVICE_CUDA_NUMBERS_H

#define WEIR__CUDA_RESULTS(X)                                                                                          \
  X(CUDA_SUCCESS, 0)                                                                                                   \
  X(CUDA_ERROR_INVALID_VALUE, 1)                                                                                       \
  X(CUDA_ERROR_OUT_OF_MEMORY, 2)                                                                                       \
  X(CUDA_ERROR_NOT_INITIALIZED, 3)                                                                                     \
  X(CUDA_ERROR_DEINITIALIZED, 4)                                                                                       \
  X(CUDA_ERROR_STUB_LIBRARY, 34)                                                                                       \
  X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46)                                                                                 \
  X(CUDA_ERROR_NO_DEVICE, 100)                                                                                         \
  X(CUDA_ERROR_INVALID_DEVICE, 101)                                                                                    \
  X(CUDA_ERROR_INVALID_IMAGE, 200)                                                                                     \
  X(CUDA_ERROR_INVALID_CONTEXT, 201)                                                                                   \
  X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                                                                                 \
  X(CUDA_ERROR_ECC_UNCORRECTABLE, 214)                                                                                 \
  X(CUDA_ERROR_INVALID_PTX, 218)                                                                                       \
  X(CUDA_ERROR_NVLINK_UNCORRECTABLE, 220)                                                                              \
  X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221)                                                                            \
  X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)                                                                           \
  X(CUDA_ERROR_CONTAINED, 226)                                                                                         \
  X(CUDA_ERROR_INVALID_SOURCE, 300)                                                                                    \
  X(CUDA_ERROR_OPERATING_SYSTEM, 304)                                                                                  \
  X(CUDA_ERROR_INVALID_HANDLE, 400)                                                                                    \
  X(CUDA_ERROR_ILLEGAL_STATE, 401)                                                                                     \
  X(CUDA_ERROR_NOT_FOUND, 500)                                                                                         \
  X(CUDA_ERROR_NOT_READY, 600)                                                                                         \
  X(CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                                                                   \
  X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)                                                                           \
  X(CUDA_ERROR_LAUNCH_TIMEOUT, 702)                                                                                    \
  X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217)                                                                           \
  X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704)                                                                       \
  X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)                                                                              \
  X(CUDA_ERROR_ASSERT, 710)                                                                                            \
  X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714)                                                                              \
  X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)                                                                               \
  X(CUDA_ERROR_MISALIGNED_ADDRESS, 716)                                                                                \
  X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717)                                                                             \
  X(CUDA_ERROR_INVALID_PC, 718)                                                                                        \
  X(CUDA_ERROR_LAUNCH_FAILED, 719)                                                                                     \
  X(CUDA_ERROR_TENSOR_MEMORY_LEAK, 721)                                                                                \
  X(CUDA_ERROR_NOT_PERMITTED, 800)                                                                                     \
  X(CUDA_ERROR_NOT_SUPPORTED, 801)                                                                                     \
  X(CUDA_ERROR_SYSTEM_NOT_READY, 802)                                                                                  \
  X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803)                                                                            \
  X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804)                                                                    \
  X(CUDA_ERROR_MPS_RPC_FAILURE, 806)                                                                                   \
  X(CUDA_ERROR_MPS_CLIENT_TERMINATED, 810)                                                                             \
  X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900)                                                                        \
  X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901)                                                                        \
  X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902)                                                                              \
  X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903)                                                                          \
  X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904)                                                                           \
  X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905)                                                                          \
  X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906)                                                                           \
  X(CUDA_ERROR_CAPTURED_EVENT, 907)                                                                                    \
  X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908)                                                                       \
  X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, 910)                                                                         \
  X(CUDA_ERROR_EXTERNAL_DEVICE, 911)                                                                                   \
  X(CUDA_ERROR_UNKNOWN, 999)

#define WEIR__CUDA_DEVICE_ATTRIBUTES(X)                                                                                \
  X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 2)                                                                            \
  X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 3)                                                                            \
  X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 4)                                                                            \
  X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8)                                                                \
  X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                                                                      \
  X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                                                                  \
  X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                                                                  \
  X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)

#define WEIR__CUDA_FUNCTION_ATTRIBUTES(X)                                                                              \
  X(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                                                                        \
  X(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                                                                            \
  X(CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                                                                                     \
  X(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)                                                                \
  X(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 9)

#define WEIR__CUDA_POINTER_ATTRIBUTES(X)                                                                               \
  X(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2)                                                                               \
  X(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9)

#define WEIR__CUDA_MEMORY_TYPES(X)                                                                                     \
  X(CU_MEMORYTYPE_HOST, 1)                                                                                             \
  X(CU_MEMORYTYPE_DEVICE, 2)                                                                                           \
  X(CU_MEMORYTYPE_UNIFIED, 4)

#define WEIR__CUDA_CAPTURE_STATUSES(X)                                                                                 \
  X(CU_STREAM_CAPTURE_STATUS_NONE, 0)                                                                                  \
  X(CU_STREAM_CAPTURE_STATUS_ACTIVE, 1)                                                                                \
  X(CU_STREAM_CAPTURE_STATUS_INVALIDATED, 2)

#define WEIR__CUDA_CAPTURE_MODES(X)                                                                                    \
  X(CU_STREAM_CAPTURE_MODE_GLOBAL, 0)                                                                                  \
  X(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1)                                                                            \
  X(CU_STREAM_CAPTURE_MODE_RELAXED, 2)

#define WEIR__CUDA_NODE_TYPES(X)                                                                                       \
  X(CU_GRAPH_NODE_TYPE_KERNEL, 0)                                                                                      \
  X(CU_GRAPH_NODE_TYPE_MEMCPY, 1)                                                                                      \
  X(CU_GRAPH_NODE_TYPE_MEMSET, 2)                                                                                      \
  X(CU_GRAPH_NODE_TYPE_HOST, 3)                                                                                        \
  X(CU_GRAPH_NODE_TYPE_GRAPH, 4)                                                                                       \
  X(CU_GRAPH_NODE_TYPE_EMPTY, 5)                                                                                       \
  X(CU_GRAPH_NODE_TYPE_WAIT_EVENT, 6)                                                                                  \
  X(CU_GRAPH_NODE_TYPE_EVENT_RECORD, 7)                                                                                \
  X(CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, 8)                                                                            \
  X(CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, 9)                                                                              \
  X(CU_GRAPH_NODE_TYPE_MEM_ALLOC, 10)                                                                                  \
  X(CU_GRAPH_NODE_TYPE_MEM_FREE, 11)                                                                                   \
  X(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, 12)                                                                               \
  X(CU_GRAPH_NODE_TYPE_CONDITIONAL, 13)

#define WEIR__CUDA_LAUNCH_ATTRIBUTES(X)                                                                                \
  X(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 2)                                                                                \
  X(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 4)

#define WEIR__CUDA_JIT_OPTIONS(X)                                                                                      \
  X(CU_JIT_ERROR_LOG_BUFFER, 5)                                                                                        \
  X(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6)

#define WEIR__CUDA_JIT_INPUTS(X)                                                                                       \
  X(CU_JIT_INPUT_CUBIN, 0)                                                                                             \
  X(CU_JIT_INPUT_PTX, 1)

// Flags of functions that take them as unsigned int (cuGraphInstantiateWithFlags: unsigned long long).
#define WEIR__CUDA_FLAGS(X)                                                                                            \
  X(CU_STREAM_DEFAULT, 0)                                                                                              \
  X(CU_STREAM_NON_BLOCKING, 1)                                                                                         \
  X(CU_STREAM_SET_CAPTURE_DEPENDENCIES, 1)                                                                             \
  X(CU_EVENT_DEFAULT, 0)                                                                                               \
  X(CU_EVENT_DISABLE_TIMING, 2)                                                                                        \
  X(CU_EVENT_WAIT_DEFAULT, 0)                                                                                          \
  X(CU_MEMHOSTALLOC_PORTABLE, 1)                                                                                       \
  X(CU_MEMHOSTALLOC_DEVICEMAP, 2)

#define WEIR__NVRTC_RESULTS(X)                                                                                         \
  X(NVRTC_SUCCESS, 0)                                                                                                  \
  X(NVRTC_ERROR_OUT_OF_MEMORY, 1)                                                                                      \
  X(NVRTC_ERROR_COMPILATION, 6)                                                                                        \
  X(NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, 7)

#endif // WEIR_DEVICE_CUDA_NUMBERS_H
