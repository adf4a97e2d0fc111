// SPDX-License-Identifier: Apache-2.0
#include "fault_loader.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/opencl/symbols.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *chosen, *also;
static uint64_t left, also_left;
static int32_t chosen_result;
static bool came;
static _Atomic int64_t live, shared;
static _Atomic bool no_platforms, is_old, few_formats;
static _Atomic uint64_t newer_calls, unfinished;

enum { MOST_QUEUES = 64 };
static cl_command_queue unflushed[MOST_QUEUES];
static uint32_t unflushed_count;

static struct {
  const void *words;
  uint64_t bytes;
  const char *source;
} known;

void fault_loader_fail(const char *function, uint64_t n, int32_t result) {
  pthread_mutex_lock(&lock);
  chosen = function;
  left = n;
  chosen_result = result;
  came = false;
  also_left = 0;
  pthread_mutex_unlock(&lock);
}

void fault_loader_fail_also(const char *function, uint64_t times) {
  pthread_mutex_lock(&lock);
  also = function;
  also_left = times;
  pthread_mutex_unlock(&lock);
}

bool fault_loader_failed(void) {
  pthread_mutex_lock(&lock);
  bool failed = came;
  pthread_mutex_unlock(&lock);
  return failed;
}

int64_t fault_loader_live(void) {
  return atomic_load(&live);
}

int64_t fault_loader_shared(void) {
  return atomic_load(&shared);
}

uint64_t fault_loader_unfinished(void) {
  return atomic_load(&unfinished);
}

uint32_t fault_loader_unflushed(void) {
  pthread_mutex_lock(&lock);
  uint32_t count = unflushed_count;
  pthread_mutex_unlock(&lock);
  return count;
}

uint64_t fault_loader_left(void) {
  pthread_mutex_lock(&lock);
  uint64_t count = left;
  pthread_mutex_unlock(&lock);
  return count;
}

void fault_loader_hide(bool platforms, bool newer) {
  atomic_store(&no_platforms, platforms);
  atomic_store(&is_old, newer);
}

void fault_loader_few_formats(bool few) {
  atomic_store(&few_formats, few);
}

void fault_loader_translate(const void *words, uint64_t bytes, const char *source) {
  known.words = words;
  known.bytes = bytes;
  known.source = source;
}

uint64_t fault_loader_newer_calls(void) {
  return atomic_load(&newer_calls);
}

// A device of OpenCL 1.2 has no such function.
static void of_opencl_2(void) {
  if (atomic_load(&is_old)) atomic_fetch_add(&newer_calls, 1);
}

// The result with which this call fails; CL_SUCCESS: it is passed on. `*out_too` (may be NULL): it is not the chosen call.
static int32_t find_failure(const char *function, bool *out_too) {
  pthread_mutex_lock(&lock);
  bool now = left > 0 && strcmp(chosen, function) == 0 && --left == 0;
  bool too = came && also_left > 0 && strcmp(also, function) == 0;
  if (now) came = true;
  if (too) also_left--;
  if (out_too != NULL) *out_too = too;
  int32_t result = now || too ? chosen_result : CL_SUCCESS;
  pthread_mutex_unlock(&lock);
  return result;
}

static int32_t fails(const char *function) {
  return find_failure(function, NULL);
}

// A command was put into the queue, or all of them were flushed, or are over.
static void note_queue(cl_command_queue queue, bool enqueued) {
  pthread_mutex_lock(&lock);
  uint32_t at = 0;
  while (at < unflushed_count && unflushed[at] != queue) at++;
  bool found = at < unflushed_count;
  if (enqueued && !found && unflushed_count < MOST_QUEUES) unflushed[unflushed_count++] = queue;
  if (!enqueued && found) unflushed[at] = unflushed[--unflushed_count];
  pthread_mutex_unlock(&lock);
}

static void *real_loader;

static void open_real_loader(void) {
  real_loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
}

static void *loader(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_real_loader);
  return real_loader;
}

// The function of the real loader. Its address is an object's in dlsym, which C does not convert.
static void find(const char *name, void *out_function) {
  void *function = loader() != NULL ? dlsym(loader(), name) : NULL;
  if (strstr(name, "SVM") != NULL || strstr(name, "WithProperties") != NULL) of_opencl_2();
  if (function == NULL) {
    fprintf(stderr, "the real OpenCL loader has no %s\n", name);
    abort();
  }
  memcpy(out_function, &function, sizeof function);
}

bool fault_loader_available(const char **out_why) {
  cl_platform_id platform;
  cl_device_id device;
  cl_uint count = 0, units = 0;
  *out_why = "no OpenCL loader";
  if (loader() == NULL) return false;
  *out_why = "no OpenCL device with two compute units";
  cl_int (*platforms)(cl_uint room, cl_platform_id * list, cl_uint * out_count);
  cl_int (*devices)(cl_platform_id from, cl_bitfield type, cl_uint room, cl_device_id * list, cl_uint * out_count);
  cl_int (*info)(cl_device_id of, cl_uint name, size_t size, void *value, size_t *value_size);
  find("clGetPlatformIDs", (void *)&platforms);
  find("clGetDeviceIDs", (void *)&devices);
  find("clGetDeviceInfo", (void *)&info);
  return platforms(1, &platform, &count) == CL_SUCCESS && count > 0 &&
         devices(platform, CL_DEVICE_TYPE_ALL, 1, &device, &count) == CL_SUCCESS && count > 0 &&
         info(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL) == CL_SUCCESS && units >= 2;
}

#define EXPORT __attribute__((visibility("default")))

// Calls that return a result; `made` objects more if they succeed.
#define PASS(name, parameters, arguments, made)                                                                        \
  EXPORT cl_int name parameters;                                                                                       \
  cl_int name parameters {                                                                                             \
    cl_int(*real) parameters;                                                                                          \
    find(#name, (void *)&real);                                                                                        \
    cl_int result = fails(#name);                                                                                      \
    if (result == CL_SUCCESS) result = real arguments;                                                                 \
    if (result == CL_SUCCESS) atomic_fetch_add(&live, made);                                                           \
    return result;                                                                                                     \
  }

// Calls that return an object.
#define MAKE(type, name, parameters, arguments)                                                                        \
  EXPORT type name parameters;                                                                                         \
  type name parameters {                                                                                               \
    type(*real) parameters;                                                                                            \
    find(#name, (void *)&real);                                                                                        \
    *result = fails(#name);                                                                                            \
    type object = *result == CL_SUCCESS ? real arguments : NULL;                                                       \
    if (object != NULL) atomic_fetch_add(&live, 1);                                                                    \
    return object;                                                                                                     \
  }

// Calls that put a command into a queue, whose event the caller may want.
#define ENQUEUE(name, parameters, arguments)                                                                           \
  EXPORT cl_int name parameters;                                                                                       \
  cl_int name parameters {                                                                                             \
    cl_int(*real) parameters;                                                                                          \
    find(#name, (void *)&real);                                                                                        \
    cl_int result = fails(#name);                                                                                      \
    if (result == CL_SUCCESS) result = real arguments;                                                                 \
    if (result != CL_SUCCESS) return result;                                                                           \
    atomic_fetch_add(&live, event != NULL);                                                                            \
    atomic_fetch_add(&unfinished, 1);                                                                                  \
    note_queue(queue, true);                                                                                           \
    return result;                                                                                                     \
  }

MAKE(cl_context, clCreateContext,
     (const intptr_t *properties, cl_uint count, const cl_device_id *devices,
      void (*notify)(const char *, const void *, size_t, void *), void *user, cl_int *result),
     (properties, count, devices, notify, user, result))
MAKE(cl_command_queue, clCreateCommandQueueWithProperties,
     (cl_context context, cl_device_id device, const cl_ulong *properties, cl_int *result),
     (context, device, properties, result))
MAKE(cl_command_queue, clCreateCommandQueue,
     (cl_context context, cl_device_id device, cl_bitfield properties, cl_int *result),
     (context, device, properties, result))
MAKE(cl_mem, clCreateBuffer, (cl_context context, cl_bitfield flags, size_t size, void *host, cl_int *result),
     (context, flags, size, host, result))
MAKE(cl_mem, clCreateImage,
     (cl_context context, cl_bitfield flags, const cl_image_format *format, const cl_image_desc *desc, void *host,
      cl_int *result),
     (context, flags, format, desc, host, result))
MAKE(cl_sampler, clCreateSampler,
     (cl_context context, cl_bool normalized, cl_uint addressing, cl_uint filter, cl_int *result),
     (context, normalized, addressing, filter, result))
MAKE(cl_program, clCreateProgramWithSource,
     (cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *result),
     (context, count, texts, lengths, result))
MAKE(cl_program, clCreateProgramWithBinary,
     (cl_context context, cl_uint count, const cl_device_id *devices, const size_t *sizes,
      const unsigned char **binaries, cl_int *statuses, cl_int *result),
     (context, count, devices, sizes, binaries, statuses, result))
MAKE(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *result), (program, name, result))

MAKE(cl_event, clCreateUserEvent, (cl_context context, cl_int *result), (context, result))

PASS(clReleaseContext, (cl_context context), (context), -1)
// It flushes.
EXPORT cl_int clReleaseCommandQueue(cl_command_queue queue);
cl_int clReleaseCommandQueue(cl_command_queue queue) {
  cl_int (*real)(cl_command_queue queue);
  find("clReleaseCommandQueue", (void *)&real);
  cl_int result = fails("clReleaseCommandQueue");
  if (result == CL_SUCCESS) note_queue(queue, false);
  if (result == CL_SUCCESS) result = real(queue);
  if (result == CL_SUCCESS) atomic_fetch_sub(&live, 1);
  return result;
}

PASS(clReleaseProgram, (cl_program program), (program), -1)
PASS(clReleaseKernel, (cl_kernel kernel), (kernel), -1)
PASS(clReleaseEvent, (cl_event event), (event), -1)
PASS(clRetainContext, (cl_context context), (context), 1)
PASS(clRetainCommandQueue, (cl_command_queue queue), (queue), 1)
PASS(clRetainEvent, (cl_event event), (event), 1)
PASS(clSetUserEventStatus, (cl_event event, cl_int status), (event, status), 0)
PASS(clGetContextInfo, (cl_context context, cl_uint name, size_t size, void *value, size_t *value_size),
     (context, name, size, value, value_size), 0)
PASS(clGetCommandQueueInfo, (cl_command_queue queue, cl_uint name, size_t size, void *value, size_t *value_size),
     (queue, name, size, value, value_size), 0)
PASS(clReleaseSampler, (cl_sampler sampler), (sampler), -1)
PASS(clReleaseMemObject, (cl_mem memory), (memory), -1)
PASS(clRetainMemObject, (cl_mem memory), (memory), 1)

PASS(clGetDeviceIDs, (cl_platform_id platform, cl_bitfield type, cl_uint room, cl_device_id *devices, cl_uint *count),
     (platform, type, room, devices, count), 0)
PASS(clGetPlatformInfo, (cl_platform_id platform, cl_uint name, size_t size, void *value, size_t *value_size),
     (platform, name, size, value, value_size), 0)
PASS(clCreateSubDevices,
     (cl_device_id device, const intptr_t *properties, cl_uint room, cl_device_id *devices, cl_uint *count),
     (device, properties, room, devices, count), 0)
PASS(clBuildProgram,
     (cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
      void (*notify)(cl_program, void *), void *user),
     (program, count, devices, options, notify, user), 0)
PASS(clGetProgramInfo, (cl_program program, cl_uint name, size_t size, void *value, size_t *value_size),
     (program, name, size, value, value_size), 0)
PASS(clGetProgramBuildInfo,
     (cl_program program, cl_device_id device, cl_uint name, size_t size, void *value, size_t *value_size),
     (program, device, name, size, value, value_size), 0)
PASS(clGetKernelInfo, (cl_kernel kernel, cl_uint name, size_t size, void *value, size_t *value_size),
     (kernel, name, size, value, value_size), 0)
PASS(clGetKernelArgInfo, (cl_kernel kernel, cl_uint index, cl_uint name, size_t size, void *value, size_t *value_size),
     (kernel, index, name, size, value, value_size), 0)
PASS(clGetKernelWorkGroupInfo,
     (cl_kernel kernel, cl_device_id device, cl_uint name, size_t size, void *value, size_t *value_size),
     (kernel, device, name, size, value, value_size), 0)
PASS(clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t size, const void *value), (kernel, index, size, value), 0)
PASS(clSetKernelArgSVMPointer, (cl_kernel kernel, cl_uint index, const void *pointer), (kernel, index, pointer), 0)
ENQUEUE(clEnqueueNDRangeKernel,
        (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global,
         const size_t *local, WEIR__OPENCL_WAITS),
        (queue, kernel, dimensions, offset, global, local, wait_count, waits, event))
ENQUEUE(clEnqueueSVMMemcpy,
        (cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, WEIR__OPENCL_WAITS),
        (queue, blocking, to, from, size, wait_count, waits, event))
ENQUEUE(clEnqueueSVMMemFill,
        (cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size, WEIR__OPENCL_WAITS),
        (queue, to, pattern, pattern_size, size, wait_count, waits, event))
PASS(clGetMemObjectInfo, (cl_mem memory, cl_uint name, size_t size, void *value, size_t *value_size),
     (memory, name, size, value, value_size), 0)
ENQUEUE(clEnqueueReadBuffer,
        (cl_command_queue queue, cl_mem from, cl_bool blocking, size_t offset, size_t size, void *to,
         WEIR__OPENCL_WAITS),
        (queue, from, blocking, offset, size, to, wait_count, waits, event))
ENQUEUE(clEnqueueWriteBuffer,
        (cl_command_queue queue, cl_mem to, cl_bool blocking, size_t offset, size_t size, const void *from,
         WEIR__OPENCL_WAITS),
        (queue, to, blocking, offset, size, from, wait_count, waits, event))
ENQUEUE(clEnqueueCopyBuffer,
        (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size,
         WEIR__OPENCL_WAITS),
        (queue, from, to, from_offset, to_offset, size, wait_count, waits, event))
ENQUEUE(clEnqueueFillBuffer,
        (cl_command_queue queue, cl_mem to, const void *pattern, size_t pattern_size, size_t offset, size_t size,
         WEIR__OPENCL_WAITS),
        (queue, to, pattern, pattern_size, offset, size, wait_count, waits, event))
ENQUEUE(clEnqueueReadImage,
        (cl_command_queue queue, cl_mem from, cl_bool blocking, const size_t *origin, const size_t *region,
         size_t row_pitch, size_t slice_pitch, void *to, WEIR__OPENCL_WAITS),
        (queue, from, blocking, origin, region, row_pitch, slice_pitch, to, wait_count, waits, event))
ENQUEUE(clEnqueueWriteImage,
        (cl_command_queue queue, cl_mem to, cl_bool blocking, const size_t *origin, const size_t *region,
         size_t row_pitch, size_t slice_pitch, const void *from, WEIR__OPENCL_WAITS),
        (queue, to, blocking, origin, region, row_pitch, slice_pitch, from, wait_count, waits, event))
ENQUEUE(clEnqueueFillImage,
        (cl_command_queue queue, cl_mem to, const void *color, const size_t *origin, const size_t *region,
         WEIR__OPENCL_WAITS),
        (queue, to, color, origin, region, wait_count, waits, event))
ENQUEUE(clEnqueueCopyImage,
        (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
         const size_t *region, WEIR__OPENCL_WAITS),
        (queue, from, to, from_origin, to_origin, region, wait_count, waits, event))
ENQUEUE(clEnqueueCopyImageToBuffer,
        (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *origin, const size_t *region, size_t offset,
         WEIR__OPENCL_WAITS),
        (queue, from, to, origin, region, offset, wait_count, waits, event))
ENQUEUE(clEnqueueCopyBufferToImage,
        (cl_command_queue queue, cl_mem from, cl_mem to, size_t offset, const size_t *origin, const size_t *region,
         WEIR__OPENCL_WAITS),
        (queue, from, to, offset, origin, region, wait_count, waits, event))
ENQUEUE(clEnqueueMarkerWithWaitList, (cl_command_queue queue, WEIR__OPENCL_WAITS), (queue, wait_count, waits, event))
EXPORT cl_int clFlush(cl_command_queue queue);
cl_int clFlush(cl_command_queue queue) {
  cl_int (*real)(cl_command_queue queue);
  find("clFlush", (void *)&real);
  cl_int result = fails("clFlush");
  if (result == CL_SUCCESS) result = real(queue);
  if (result == CL_SUCCESS) note_queue(queue, false);
  return result;
}

EXPORT cl_int clFinish(cl_command_queue queue);
cl_int clFinish(cl_command_queue queue) {
  cl_int (*real)(cl_command_queue queue);
  find("clFinish", (void *)&real);
  cl_int result = fails("clFinish");
  if (result == CL_SUCCESS) result = real(queue);
  if (result != CL_SUCCESS) return result;
  atomic_store(&unfinished, 0);
  note_queue(queue, false);
  return result;
}

PASS(clWaitForEvents, (cl_uint count, const cl_event *events), (count, events), 0)
PASS(clGetEventProfilingInfo, (cl_event event, cl_uint name, size_t size, void *value, size_t *value_size),
     (event, name, size, value, value_size), 0)
PASS(clSetEventCallback, (cl_event event, cl_int status, void (*notify)(cl_event, cl_int, void *), void *user),
     (event, status, notify, user), 0)

EXPORT cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *platforms, cl_uint *count);
cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *platforms, cl_uint *count) {
  cl_int (*real)(cl_uint room, cl_platform_id * platforms, cl_uint * count);
  find("clGetPlatformIDs", (void *)&real);
  return atomic_load(&no_platforms) ? CL_PLATFORM_NOT_FOUND_KHR : real(room, platforms, count);
}

EXPORT cl_int clGetDeviceInfo(cl_device_id device, cl_uint name, size_t size, void *value, size_t *value_size);
cl_int clGetDeviceInfo(cl_device_id device, cl_uint name, size_t size, void *value, size_t *value_size) {
  cl_int (*real)(cl_device_id device, cl_uint name, size_t size, void *value, size_t *value_size);
  find("clGetDeviceInfo", (void *)&real);
  static const char version[] = "OpenCL 1.2 as it was", il[] = "SPIR-V_1.0 SPIR-V_1.2";
  const cl_uint alignment = 8 * FAULT_LOADER_ALIGNMENT;
  if (name == CL_DEVICE_SVM_CAPABILITIES && atomic_load(&is_old)) return CL_INVALID_VALUE;
  if (name == CL_DEVICE_VERSION && atomic_load(&is_old) && size >= sizeof version) {
    memcpy(value, version, sizeof version);
    return CL_SUCCESS;
  }
  if (name == CL_DEVICE_IL_VERSION && known.words != NULL && size >= sizeof il) {
    memcpy(value, il, sizeof il);
    return CL_SUCCESS;
  }
  if (name == CL_DEVICE_MEM_BASE_ADDR_ALIGN && atomic_load(&is_old) && size == sizeof alignment) {
    memcpy(value, &alignment, sizeof alignment);
    return CL_SUCCESS;
  }
  return real(device, name, size, value, value_size);
}

EXPORT cl_program clCreateProgramWithIL(cl_context context, const void *words, size_t size, cl_int *result);
cl_program clCreateProgramWithIL(cl_context context, const void *words, size_t size, cl_int *result) {
  cl_program (*real)(cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *result);
  find("clCreateProgramWithSource", (void *)&real);
  *result = fails("clCreateProgramWithIL");
  if (*result == CL_SUCCESS && (known.words == NULL || size != known.bytes || memcmp(words, known.words, size) != 0))
    *result = CL_INVALID_VALUE;
  cl_program program = *result == CL_SUCCESS ? real(context, 1, &known.source, NULL, result) : NULL;
  if (program != NULL) atomic_fetch_add(&live, 1);
  return program;
}

EXPORT cl_int clGetSupportedImageFormats(cl_context context, cl_bitfield flags, cl_uint type, cl_uint room,
                                         cl_image_format *formats, cl_uint *count);
cl_int clGetSupportedImageFormats(cl_context context, cl_bitfield flags, cl_uint type, cl_uint room,
                                  cl_image_format *formats, cl_uint *count) {
  static const cl_image_format few[] = {{CL_RGBA, CL_UNORM_INT8}, {CL_R, CL_FLOAT}};
  cl_int (*real)(cl_context context, cl_bitfield flags, cl_uint type, cl_uint room, cl_image_format * formats,
                 cl_uint * count);
  find("clGetSupportedImageFormats", (void *)&real);
  cl_int result = fails("clGetSupportedImageFormats");
  if (result != CL_SUCCESS || !atomic_load(&few_formats))
    return result == CL_SUCCESS ? real(context, flags, type, room, formats, count) : result;
  memcpy(formats, few, sizeof few);
  *count = 2;
  return CL_SUCCESS;
}

EXPORT cl_mem clCreateSubBuffer(cl_mem memory, cl_bitfield flags, cl_uint type, const void *info, cl_int *result);
cl_mem clCreateSubBuffer(cl_mem memory, cl_bitfield flags, cl_uint type, const void *info, cl_int *result) {
  cl_mem (*real)(cl_mem memory, cl_bitfield flags, cl_uint type, const void *info, cl_int *result);
  const cl_buffer_region *region = info;
  find("clCreateSubBuffer", (void *)&real);
  *result = fails("clCreateSubBuffer");
  if (*result == CL_SUCCESS && atomic_load(&is_old) && region->origin % FAULT_LOADER_ALIGNMENT != 0)
    *result = CL_MISALIGNED_SUB_BUFFER_OFFSET;
  cl_mem part = *result == CL_SUCCESS ? real(memory, flags, type, info, result) : NULL;
  if (part != NULL) atomic_fetch_add(&live, 1);
  return part;
}

EXPORT cl_int clGetEventInfo(cl_event event, cl_uint name, size_t size, void *value, size_t *value_size);
cl_int clGetEventInfo(cl_event event, cl_uint name, size_t size, void *value, size_t *value_size) {
  cl_int (*real)(cl_event event, cl_uint name, size_t size, void *value, size_t *value_size);
  find("clGetEventInfo", (void *)&real);
  bool too;
  cl_int status = find_failure("clGetEventInfo", &too);
  if (too) return status;
  if (status == CL_SUCCESS) return real(event, name, size, value, value_size);
  memcpy(value, &status, sizeof status);
  return CL_SUCCESS;
}

EXPORT void *clSVMAlloc(cl_context context, cl_bitfield flags, size_t size, cl_uint alignment);
void *clSVMAlloc(cl_context context, cl_bitfield flags, size_t size, cl_uint alignment) {
  void *(*real)(cl_context context, cl_bitfield flags, size_t size, cl_uint alignment);
  find("clSVMAlloc", (void *)&real);
  void *memory = fails("clSVMAlloc") == CL_SUCCESS ? real(context, flags, size, alignment) : NULL;
  if (memory != NULL) atomic_fetch_add(&live, 1);
  if (memory != NULL) atomic_fetch_add(&shared, 1);
  return memory;
}

EXPORT void clSVMFree(cl_context context, void *memory);
void clSVMFree(cl_context context, void *memory) {
  void (*real)(cl_context context, void *memory);
  find("clSVMFree", (void *)&real);
  real(context, memory);
  atomic_fetch_sub(&live, 1);
  atomic_fetch_sub(&shared, 1);
}
