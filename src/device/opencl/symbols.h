// SPDX-License-Identifier: Apache-2.0
//
// The functions of OpenCL that Weir calls: X(result, name, need, parameters). `need`: REQUIRED, or OPTIONAL (the member of
// weir__opencl_driver is NULL if the loader lacks it).
#ifndef WEIR_DEVICE_OPENCL_SYMBOLS_H
#define WEIR_DEVICE_OPENCL_SYMBOLS_H

#include "device/opencl/api.h"

// clang-format off
#define WEIR__OPENCL_WAITS cl_uint wait_count, const cl_event *waits, cl_event *event
#define WEIR__OPENCL_SYMBOLS(X) \
  X(cl_int, clGetPlatformIDs, REQUIRED, (cl_uint room, cl_platform_id *platforms, cl_uint *count)) \
  X(cl_int, clGetPlatformInfo, REQUIRED, \
    (cl_platform_id platform, cl_uint name, size_t size, void *value, size_t *value_size)) \
  X(cl_int, clGetDeviceIDs, REQUIRED, \
    (cl_platform_id platform, cl_bitfield type, cl_uint room, cl_device_id *devices, cl_uint *count)) \
  X(cl_int, clGetDeviceInfo, REQUIRED, \
    (cl_device_id device, cl_uint name, size_t size, void *value, size_t *value_size)) \
  X(cl_int, clCreateSubDevices, REQUIRED, \
    (cl_device_id device, const intptr_t *properties, cl_uint room, cl_device_id *devices, cl_uint *count)) \
  X(cl_context, clCreateContext, REQUIRED, \
    (const intptr_t *properties, cl_uint count, const cl_device_id *devices, \
     void (*notify)(const char *text, const void *data, size_t size, void *user), void *user, cl_int *result)) \
  X(cl_int, clRetainContext, REQUIRED, (cl_context context)) \
  X(cl_int, clGetContextInfo, REQUIRED, \
    (cl_context context, cl_uint name, size_t size, void *value, size_t *value_size)) \
  X(cl_int, clReleaseContext, REQUIRED, (cl_context context)) \
  X(cl_command_queue, clCreateCommandQueueWithProperties, OPTIONAL, \
    (cl_context context, cl_device_id device, const cl_ulong *properties, cl_int *result)) \
  X(cl_command_queue, clCreateCommandQueue, OPTIONAL, \
    (cl_context context, cl_device_id device, cl_bitfield properties, cl_int *result)) \
  X(cl_int, clRetainCommandQueue, REQUIRED, (cl_command_queue queue)) \
  X(cl_int, clGetCommandQueueInfo, REQUIRED, \
    (cl_command_queue queue, cl_uint name, size_t size, void *value, size_t *value_size)) \
  X(cl_int, clReleaseCommandQueue, REQUIRED, (cl_command_queue queue)) \
  \
  X(cl_program, clCreateProgramWithSource, REQUIRED, \
    (cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *result)) \
  X(cl_program, clCreateProgramWithBinary, REQUIRED, \
    (cl_context context, cl_uint count, const cl_device_id *devices, const size_t *sizes, \
     const unsigned char **binaries, cl_int *statuses, cl_int *result)) \
  X(cl_program, clCreateProgramWithIL, OPTIONAL, (cl_context context, const void *words, size_t size, cl_int *result)) \
  X(cl_int, clBuildProgram, REQUIRED, \
    (cl_program program, cl_uint count, const cl_device_id *devices, const char *options, \
     void (*notify)(cl_program program, void *user), void *user)) \
  X(cl_int, clGetProgramInfo, REQUIRED, (cl_program program, cl_uint name, size_t size, void *value, size_t *value_size)) \
  X(cl_int, clGetProgramBuildInfo, REQUIRED, \
    (cl_program program, cl_device_id device, cl_uint name, size_t size, void *value, size_t *value_size)) \
  X(cl_int, clReleaseProgram, REQUIRED, (cl_program program)) \
  X(cl_kernel, clCreateKernel, REQUIRED, (cl_program program, const char *name, cl_int *result)) \
  X(cl_int, clReleaseKernel, REQUIRED, (cl_kernel kernel)) \
  X(cl_int, clGetKernelInfo, REQUIRED, (cl_kernel kernel, cl_uint name, size_t size, void *value, size_t *value_size)) \
  X(cl_int, clGetKernelArgInfo, REQUIRED, \
    (cl_kernel kernel, cl_uint index, cl_uint name, size_t size, void *value, size_t *value_size)) \
  X(cl_int, clGetKernelWorkGroupInfo, REQUIRED, \
    (cl_kernel kernel, cl_device_id device, cl_uint name, size_t size, void *value, size_t *value_size)) \
  X(cl_int, clSetKernelArg, REQUIRED, (cl_kernel kernel, cl_uint index, size_t size, const void *value)) \
  X(cl_int, clSetKernelArgSVMPointer, OPTIONAL, (cl_kernel kernel, cl_uint index, const void *pointer)) \
  \
  X(void *, clSVMAlloc, OPTIONAL, (cl_context context, cl_bitfield flags, size_t size, cl_uint alignment)) \
  X(void, clSVMFree, OPTIONAL, (cl_context context, void *memory)) \
  X(cl_int, clEnqueueNDRangeKernel, REQUIRED, \
    (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global, \
     const size_t *local, WEIR__OPENCL_WAITS)) \
  X(cl_int, clEnqueueSVMMemcpy, OPTIONAL, \
    (cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, WEIR__OPENCL_WAITS)) \
  X(cl_int, clEnqueueSVMMemFill, OPTIONAL, \
    (cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size, WEIR__OPENCL_WAITS)) \
  \
  X(cl_mem, clCreateBuffer, REQUIRED, \
    (cl_context context, cl_bitfield flags, size_t size, void *host, cl_int *result)) \
  X(cl_mem, clCreateSubBuffer, REQUIRED, \
    (cl_mem memory, cl_bitfield flags, cl_uint type, const void *info, cl_int *result)) \
  X(cl_int, clRetainMemObject, REQUIRED, (cl_mem memory)) \
  X(cl_int, clGetMemObjectInfo, REQUIRED, (cl_mem memory, cl_uint name, size_t size, void *value, size_t *value_size)) \
  X(cl_int, clReleaseMemObject, REQUIRED, (cl_mem memory)) \
  X(cl_int, clEnqueueReadBuffer, REQUIRED, \
    (cl_command_queue queue, cl_mem from, cl_bool blocking, size_t offset, size_t size, void *to, \
     WEIR__OPENCL_WAITS)) \
  X(cl_int, clEnqueueWriteBuffer, REQUIRED, \
    (cl_command_queue queue, cl_mem to, cl_bool blocking, size_t offset, size_t size, const void *from, \
     WEIR__OPENCL_WAITS)) \
  X(cl_int, clEnqueueCopyBuffer, REQUIRED, \
    (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size, \
     WEIR__OPENCL_WAITS)) \
  X(cl_int, clEnqueueFillBuffer, REQUIRED, \
    (cl_command_queue queue, cl_mem to, const void *pattern, size_t pattern_size, size_t offset, size_t size, \
     WEIR__OPENCL_WAITS)) \
  \
  X(cl_int, clGetSupportedImageFormats, REQUIRED, \
    (cl_context context, cl_bitfield flags, cl_uint type, cl_uint room, cl_image_format *formats, cl_uint *count)) \
  X(cl_mem, clCreateImage, REQUIRED, \
    (cl_context context, cl_bitfield flags, const cl_image_format *format, const cl_image_desc *desc, void *host, \
     cl_int *result)) \
  X(cl_sampler, clCreateSampler, REQUIRED, \
    (cl_context context, cl_bool normalized, cl_uint addressing, cl_uint filter, cl_int *result)) \
  X(cl_int, clReleaseSampler, REQUIRED, (cl_sampler sampler)) \
  X(cl_int, clEnqueueReadImage, REQUIRED, \
    (cl_command_queue queue, cl_mem from, cl_bool blocking, const size_t *origin, const size_t *region, \
     size_t row_pitch, size_t slice_pitch, void *to, WEIR__OPENCL_WAITS)) \
  X(cl_int, clEnqueueWriteImage, REQUIRED, \
    (cl_command_queue queue, cl_mem to, cl_bool blocking, const size_t *origin, const size_t *region, \
     size_t row_pitch, size_t slice_pitch, const void *from, WEIR__OPENCL_WAITS)) \
  X(cl_int, clEnqueueFillImage, REQUIRED, \
    (cl_command_queue queue, cl_mem to, const void *color, const size_t *origin, const size_t *region, \
     WEIR__OPENCL_WAITS)) \
  X(cl_int, clEnqueueCopyImage, REQUIRED, \
    (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin, \
     const size_t *region, WEIR__OPENCL_WAITS)) \
  X(cl_int, clEnqueueCopyImageToBuffer, REQUIRED, \
    (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *origin, const size_t *region, size_t offset, \
     WEIR__OPENCL_WAITS)) \
  X(cl_int, clEnqueueCopyBufferToImage, REQUIRED, \
    (cl_command_queue queue, cl_mem from, cl_mem to, size_t offset, const size_t *origin, const size_t *region, \
     WEIR__OPENCL_WAITS)) \
  \
  X(cl_int, clEnqueueMarkerWithWaitList, REQUIRED, (cl_command_queue queue, WEIR__OPENCL_WAITS)) \
  X(cl_int, clFlush, REQUIRED, (cl_command_queue queue)) \
  X(cl_int, clFinish, REQUIRED, (cl_command_queue queue)) \
  X(cl_int, clWaitForEvents, REQUIRED, (cl_uint count, const cl_event *events)) \
  X(cl_int, clGetEventInfo, REQUIRED, (cl_event event, cl_uint name, size_t size, void *value, size_t *value_size)) \
  X(cl_int, clGetEventProfilingInfo, REQUIRED, \
    (cl_event event, cl_uint name, size_t size, void *value, size_t *value_size)) \
  X(cl_int, clSetEventCallback, REQUIRED, \
    (cl_event event, cl_int status, void (*notify)(cl_event event, cl_int status, void *user), void *user)) \
  X(cl_event, clCreateUserEvent, REQUIRED, (cl_context context, cl_int *result)) \
  X(cl_int, clSetUserEventStatus, REQUIRED, (cl_event event, cl_int status)) \
  X(cl_int, clRetainEvent, REQUIRED, (cl_event event)) \
  X(cl_int, clReleaseEvent, REQUIRED, (cl_event event))
// clang-format on

#endif // WEIR_DEVICE_OPENCL_SYMBOLS_H
