// SPDX-License-Identifier: Apache-2.0
//
// OpenCL's numbers that Weir uses, as lists; tests/opencl/test_opencl_api.c compares them with Khronos's headers.
#ifndef WEIR_DEVICE_OPENCL_NUMBERS_H
#define WEIR_DEVICE_OPENCL_NUMBERS_H

// X(name, value): results of functions, and of commands.
#define WEIR__OPENCL_RESULTS(X)                                                                                        \
  X(CL_SUCCESS, 0)                                                                                                     \
  X(CL_DEVICE_NOT_FOUND, -1)                                                                                           \
  X(CL_DEVICE_NOT_AVAILABLE, -2)                                                                                       \
  X(CL_COMPILER_NOT_AVAILABLE, -3)                                                                                     \
  X(CL_MEM_OBJECT_ALLOCATION_FAILURE, -4)                                                                              \
  X(CL_OUT_OF_RESOURCES, -5)                                                                                           \
  X(CL_OUT_OF_HOST_MEMORY, -6)                                                                                         \
  X(CL_PROFILING_INFO_NOT_AVAILABLE, -7)                                                                               \
  X(CL_MEM_COPY_OVERLAP, -8)                                                                                           \
  X(CL_IMAGE_FORMAT_NOT_SUPPORTED, -10)                                                                                \
  X(CL_BUILD_PROGRAM_FAILURE, -11)                                                                                     \
  X(CL_MISALIGNED_SUB_BUFFER_OFFSET, -13)                                                                              \
  X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, -14)                                                                 \
  X(CL_DEVICE_PARTITION_FAILED, -18)                                                                                   \
  X(CL_INVALID_VALUE, -30)                                                                                             \
  X(CL_INVALID_DEVICE_TYPE, -31)                                                                                       \
  X(CL_INVALID_PLATFORM, -32)                                                                                          \
  X(CL_INVALID_DEVICE, -33)                                                                                            \
  X(CL_INVALID_CONTEXT, -34)                                                                                           \
  X(CL_INVALID_QUEUE_PROPERTIES, -35)                                                                                  \
  X(CL_INVALID_COMMAND_QUEUE, -36)                                                                                     \
  X(CL_INVALID_HOST_PTR, -37)                                                                                          \
  X(CL_INVALID_MEM_OBJECT, -38)                                                                                        \
  X(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, -39)                                                                           \
  X(CL_INVALID_IMAGE_SIZE, -40)                                                                                        \
  X(CL_INVALID_SAMPLER, -41)                                                                                           \
  X(CL_INVALID_BINARY, -42)                                                                                            \
  X(CL_INVALID_BUILD_OPTIONS, -43)                                                                                     \
  X(CL_INVALID_PROGRAM, -44)                                                                                           \
  X(CL_INVALID_PROGRAM_EXECUTABLE, -45)                                                                                \
  X(CL_INVALID_KERNEL_NAME, -46)                                                                                       \
  X(CL_INVALID_KERNEL_DEFINITION, -47)                                                                                 \
  X(CL_INVALID_KERNEL, -48)                                                                                            \
  X(CL_INVALID_ARG_INDEX, -49)                                                                                         \
  X(CL_INVALID_ARG_VALUE, -50)                                                                                         \
  X(CL_INVALID_ARG_SIZE, -51)                                                                                          \
  X(CL_INVALID_KERNEL_ARGS, -52)                                                                                       \
  X(CL_INVALID_WORK_DIMENSION, -53)                                                                                    \
  X(CL_INVALID_WORK_GROUP_SIZE, -54)                                                                                   \
  X(CL_INVALID_WORK_ITEM_SIZE, -55)                                                                                    \
  X(CL_INVALID_GLOBAL_OFFSET, -56)                                                                                     \
  X(CL_INVALID_EVENT_WAIT_LIST, -57)                                                                                   \
  X(CL_INVALID_EVENT, -58)                                                                                             \
  X(CL_INVALID_OPERATION, -59)                                                                                         \
  X(CL_INVALID_BUFFER_SIZE, -61)                                                                                       \
  X(CL_INVALID_GLOBAL_WORK_SIZE, -63)                                                                                  \
  X(CL_INVALID_PROPERTY, -64)                                                                                          \
  X(CL_INVALID_DEVICE_PARTITION_COUNT, -68)                                                                            \
  X(CL_PLATFORM_NOT_FOUND_KHR, -1001)

// X(name, value): everything else.
#define WEIR__OPENCL_NUMBERS(X)                                                                                        \
  X(CL_FALSE, 0)                                                                                                       \
  X(CL_TRUE, 1)                                                                                                        \
  X(CL_COMPLETE, 0)                                                                                                    \
  X(CL_PLATFORM_VERSION, 0x0901)                                                                                       \
  X(CL_PLATFORM_NAME, 0x0902)                                                                                          \
  X(CL_DEVICE_TYPE, 0x1000)                                                                                            \
  X(CL_DEVICE_MAX_COMPUTE_UNITS, 0x1002)                                                                               \
  X(CL_DEVICE_MAX_WORK_GROUP_SIZE, 0x1004)                                                                             \
  X(CL_DEVICE_MAX_WORK_ITEM_SIZES, 0x1005)                                                                             \
  X(CL_DEVICE_IMAGE2D_MAX_WIDTH, 0x1011)                                                                               \
  X(CL_DEVICE_IMAGE2D_MAX_HEIGHT, 0x1012)                                                                              \
  X(CL_DEVICE_IMAGE3D_MAX_WIDTH, 0x1013)                                                                               \
  X(CL_DEVICE_IMAGE3D_MAX_HEIGHT, 0x1014)                                                                              \
  X(CL_DEVICE_IMAGE3D_MAX_DEPTH, 0x1015)                                                                               \
  X(CL_DEVICE_IMAGE_SUPPORT, 0x1016)                                                                                   \
  X(CL_DEVICE_MEM_BASE_ADDR_ALIGN, 0x1019)                                                                             \
  X(CL_DEVICE_SINGLE_FP_CONFIG, 0x101B)                                                                                \
  X(CL_DEVICE_GLOBAL_MEM_SIZE, 0x101F)                                                                                 \
  X(CL_DEVICE_LOCAL_MEM_SIZE, 0x1023)                                                                                  \
  X(CL_DEVICE_NAME, 0x102B)                                                                                            \
  X(CL_DRIVER_VERSION, 0x102D)                                                                                         \
  X(CL_DEVICE_VERSION, 0x102F)                                                                                         \
  X(CL_DEVICE_PLATFORM, 0x1031)                                                                                        \
  X(CL_DEVICE_SVM_CAPABILITIES, 0x1053)                                                                                \
  X(CL_DEVICE_IL_VERSION, 0x105B)                                                                                      \
  X(CL_DEVICE_PARTITION_EQUALLY, 0x1086)                                                                               \
  X(CL_DEVICE_TYPE_CPU, 1 << 1)                                                                                        \
  X(CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, 1 << 0)                                                                         \
  X(CL_DEVICE_SVM_FINE_GRAIN_SYSTEM, 1 << 2)                                                                           \
  X(CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, 1 << 7)                                                                       \
  X(CL_R, 0x10B0)                                                                                                      \
  X(CL_RG, 0x10B2)                                                                                                     \
  X(CL_RGBA, 0x10B5)                                                                                                   \
  X(CL_UNORM_INT8, 0x10D2)                                                                                             \
  X(CL_SIGNED_INT8, 0x10D7)                                                                                            \
  X(CL_SIGNED_INT16, 0x10D8)                                                                                           \
  X(CL_SIGNED_INT32, 0x10D9)                                                                                           \
  X(CL_UNSIGNED_INT8, 0x10DA)                                                                                          \
  X(CL_UNSIGNED_INT16, 0x10DB)                                                                                         \
  X(CL_UNSIGNED_INT32, 0x10DC)                                                                                         \
  X(CL_HALF_FLOAT, 0x10DD)                                                                                             \
  X(CL_FLOAT, 0x10DE)                                                                                                  \
  X(CL_ADDRESS_CLAMP_TO_EDGE, 0x1131)                                                                                  \
  X(CL_ADDRESS_REPEAT, 0x1133)                                                                                         \
  X(CL_FILTER_NEAREST, 0x1140)                                                                                         \
  X(CL_FILTER_LINEAR, 0x1141)                                                                                          \
  X(CL_MEM_READ_WRITE, 1 << 0)                                                                                         \
  X(CL_MEM_WRITE_ONLY, 1 << 1)                                                                                         \
  X(CL_MEM_READ_ONLY, 1 << 2)                                                                                          \
  X(CL_MEM_HOST_WRITE_ONLY, 1 << 7)                                                                                    \
  X(CL_MEM_HOST_READ_ONLY, 1 << 8)                                                                                     \
  X(CL_MEM_HOST_NO_ACCESS, 1 << 9)                                                                                     \
  X(CL_MEM_OBJECT_BUFFER, 0x10F0)                                                                                      \
  X(CL_MEM_OBJECT_IMAGE2D, 0x10F1)                                                                                     \
  X(CL_MEM_OBJECT_IMAGE3D, 0x10F2)                                                                                     \
  X(CL_MEM_OBJECT_IMAGE1D, 0x10F4)                                                                                     \
  X(CL_MEM_TYPE, 0x1100)                                                                                               \
  X(CL_MEM_FLAGS, 0x1101)                                                                                              \
  X(CL_MEM_SIZE, 0x1102)                                                                                               \
  X(CL_MEM_CONTEXT, 0x1106)                                                                                            \
  X(CL_MEM_ASSOCIATED_MEMOBJECT, 0x1107)                                                                               \
  X(CL_MEM_OFFSET, 0x1108)                                                                                             \
  X(CL_BUFFER_CREATE_TYPE_REGION, 0x1220)                                                                              \
  X(CL_CONTEXT_DEVICES, 0x1081)                                                                                        \
  X(CL_QUEUE_CONTEXT, 0x1090)                                                                                          \
  X(CL_QUEUE_DEVICE, 0x1091)                                                                                           \
  X(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 1 << 0)                                                                    \
  X(CL_QUEUE_PROFILING_ENABLE, 1 << 1)                                                                                 \
  X(CL_QUEUE_REFERENCE_COUNT, 0x1092)                                                                                  \
  X(CL_QUEUE_PROPERTIES, 0x1093)                                                                                       \
  X(CL_PROGRAM_BINARY_SIZES, 0x1165)                                                                                   \
  X(CL_PROGRAM_BINARIES, 0x1166)                                                                                       \
  X(CL_PROGRAM_BUILD_LOG, 0x1183)                                                                                      \
  X(CL_KERNEL_NUM_ARGS, 0x1191)                                                                                        \
  X(CL_KERNEL_ARG_ADDRESS_QUALIFIER, 0x1196)                                                                           \
  X(CL_KERNEL_ARG_ADDRESS_GLOBAL, 0x119B)                                                                              \
  X(CL_KERNEL_ARG_ADDRESS_LOCAL, 0x119C)                                                                               \
  X(CL_KERNEL_ARG_ADDRESS_CONSTANT, 0x119D)                                                                            \
  X(CL_KERNEL_ARG_ADDRESS_PRIVATE, 0x119E)                                                                             \
  X(CL_KERNEL_ARG_ACCESS_QUALIFIER, 0x1197)                                                                            \
  X(CL_KERNEL_ARG_TYPE_NAME, 0x1198)                                                                                   \
  X(CL_KERNEL_ARG_TYPE_QUALIFIER, 0x1199)                                                                              \
  X(CL_KERNEL_ARG_TYPE_CONST, 1 << 0)                                                                                  \
  X(CL_KERNEL_ARG_ACCESS_WRITE_ONLY, 0x11A1)                                                                           \
  X(CL_KERNEL_ARG_ACCESS_READ_ONLY, 0x11A0)                                                                            \
  X(CL_KERNEL_WORK_GROUP_SIZE, 0x11B0)                                                                                 \
  X(CL_KERNEL_COMPILE_WORK_GROUP_SIZE, 0x11B1)                                                                         \
  X(CL_EVENT_COMMAND_EXECUTION_STATUS, 0x11D3)                                                                         \
  X(CL_PROFILING_COMMAND_START, 0x1282)                                                                                \
  X(CL_PROFILING_COMMAND_END, 0x1283)

#endif // WEIR_DEVICE_OPENCL_NUMBERS_H
