// SPDX-License-Identifier: Apache-2.0
//
// What the tests use of OpenCL 1.2, loaded at run time.
#ifndef WRITE_ONCE_OPENCL_H
#define WRITE_ONCE_OPENCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cl_object *cl_handle; // a platform, device, context, queue, program, kernel or buffer

enum {
  CL_TRUE = 1,
  CL_DEVICE_NAME = 0x102B,
  CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
  CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
  CL_PROGRAM_BUILD_LOG = 0x1183,
  CL_MEM_READ_WRITE = 1,
  CL_MEM_COPY_HOST_PTR = 1 << 5,
  CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT = 1 << 7,
};
#define CL_DEVICE_TYPE_ALL UINT64_C(0xFFFFFFFF)

// Return type, name, parameters of each function.
#define OPENCL_FUNCTIONS(F)                                                                                            \
  F(int32_t, clGetPlatformIDs, (uint32_t, cl_handle *, uint32_t *))                                                    \
  F(int32_t, clGetDeviceIDs, (cl_handle, uint64_t, uint32_t, cl_handle *, uint32_t *))                                 \
  F(int32_t, clGetDeviceInfo, (cl_handle, uint32_t, size_t, void *, size_t *))                                         \
  F(cl_handle, clCreateContext, (const intptr_t *, uint32_t, const cl_handle *, void *, void *, int32_t *))            \
  F(cl_handle, clCreateCommandQueue, (cl_handle, cl_handle, uint64_t, int32_t *))                                      \
  F(cl_handle, clCreateProgramWithSource, (cl_handle, uint32_t, const char **, const size_t *, int32_t *))             \
  F(int32_t, clBuildProgram, (cl_handle, uint32_t, const cl_handle *, const char *, void *, void *))                   \
  F(int32_t, clGetProgramBuildInfo, (cl_handle, cl_handle, uint32_t, size_t, void *, size_t *))                        \
  F(cl_handle, clCreateKernel, (cl_handle, const char *, int32_t *))                                                   \
  F(cl_handle, clCreateBuffer, (cl_handle, uint64_t, size_t, void *, int32_t *))                                       \
  F(int32_t, clSetKernelArg, (cl_handle, uint32_t, size_t, const void *))                                              \
  F(int32_t, clEnqueueNDRangeKernel,                                                                                   \
    (cl_handle, cl_handle, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t, const void *, void *))  \
  F(int32_t, clEnqueueReadBuffer,                                                                                      \
    (cl_handle, cl_handle, uint32_t, size_t, size_t, void *, uint32_t, const void *, void *))                          \
  F(int32_t, clFinish, (cl_handle))                                                                                    \
  F(int32_t, clReleaseMemObject, (cl_handle))                                                                          \
  F(int32_t, clReleaseKernel, (cl_handle))                                                                             \
  F(int32_t, clReleaseProgram, (cl_handle))                                                                            \
  F(int32_t, clReleaseCommandQueue, (cl_handle))                                                                       \
  F(int32_t, clReleaseContext, (cl_handle))

typedef struct opencl_functions {
#define OPENCL_MEMBER(type, name, parameters) type(*name) parameters;
  OPENCL_FUNCTIONS(OPENCL_MEMBER)
#undef OPENCL_MEMBER
} opencl_functions;

extern opencl_functions opencl;

// Loads OpenCL; prints why when it cannot.
bool opencl_load(void);

#endif // WRITE_ONCE_OPENCL_H
