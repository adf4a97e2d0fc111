// SPDX-License-Identifier: Apache-2.0
//
// Weir on OpenCL: kernels as OpenCL C or SPIR-V.
//
// A context has OpenCL devices when its list of devices names them: "opencl" or "opencl:0", "opencl:1", counted over all
// platforms in the order in which the OpenCL loader lists them; and "opencl:0/2.1", part 1 (of 0 and 1) of device 0 cut into
// two parts with as many compute units each. The loader is found at run time; nothing of OpenCL is needed to build or to link.
// `weir info` says what a machine has or lacks. A device needs OpenCL 1.2 or later.
//
// The binding model: argument i of the task is argument i of the kernel. A buffer is a __global (or __constant) pointer to the
// first byte of the task's range, which may lie anywhere in the buffer (on a device without shared virtual memory it begins at a
// multiple of the device's alignment, and the refusal says of how many bytes); a value is its bytes, which must have the size of
// the kernel's argument; an image (weir/image.h) is an image1d_t, image2d_t or image3d_t, and a sampler_t that follows it is the
// image's sampler, which is not among the task's arguments. Arguments of __local memory come after these, and are not the task's.
#ifndef WEIR_OPENCL_H
#define WEIR_OPENCL_H

#include "weir/image.h"
#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WEIR_OPENCL_MOST_LOCAL = 8, WEIR_OPENCL_MOST_QUEUES = 64 };

// Where the code of a kernel comes from: exactly one of `source` and `spirv` is set.
typedef struct weir_opencl_code {
  const char *source;   // OpenCL C; what it is built to is kept in a cache on disk (see docs/guide/opencl.md)
  const void *spirv;    // SPIR-V, for devices that take it
  uint64_t spirv_bytes; //
  const char *options;  // for the build, separated by spaces; NULL: none
  bool exact;           // divide floats and take their roots with correct rounding, where the device offers it
} weir_opencl_code;

// One launch.
typedef struct weir_opencl_launch {
  const char *entry;                            // name of the kernel in the code
  uint32_t groups[3];                           // work-groups; all 0: the task's
  uint32_t local[3];                            // work-items of a work-group; 0 counts as 1
  uint64_t local_bytes[WEIR_OPENCL_MOST_LOCAL]; // of each of the kernel's last arguments, which are of __local memory;
  uint32_t local_count;                         // how many these are
  const void *value; // not NULL: the kernel has this one argument, `value_bytes` bytes that are copied, in place of the
  uint32_t value_bytes; // task's
  uint64_t reserved[2]; // 0
} weir_opencl_launch;

// Gives a kernel its code for the context's OpenCL devices. It is built at once, on each of them; code that several kernels
// share is built once.
// Errors: INVALID_ARGUMENT (source that does not build: the text holds the log of the build; no such kernel in it, a work-group or
// local memory larger than the device allows, a work-group that the code asks to be another), UNAVAILABLE (the context has no
// OpenCL device; a device that does not take SPIR-V), OUT_OF_MEMORY.
WEIR_API weir_status weir_kernel_set_opencl_sized(weir_kernel *kernel, const weir_opencl_code *code, size_t code_size,
                                                  const weir_opencl_launch *launch);
static inline weir_status weir_kernel_set_opencl(weir_kernel *kernel_, const weir_opencl_code *code_,
                                                 const weir_opencl_launch *launch_) {
  return weir_kernel_set_opencl_sized(kernel_, code_, sizeof *code_, launch_);
}

// ---------------------------------------------------------------------------------------------------------------
// Sharing with other OpenCL code (docs/guide/opencl.md has an example)
//
// OpenCL's objects are passed as void *, so that this header needs none of OpenCL's. They belong to a cl_context, so sharing begins
// with a device of the caller's. Weir holds references to what it uses; the caller may release its own at any time.

// A device of the caller's.
typedef struct weir_opencl_handles {
  void *context; // cl_context
  void *device;  // cl_device_id, one of the context's
  void *const
      *queues; // cl_command_queue, in order, of this context and device, for Weir to use; NULL: it makes its own. The
               // caller may go on using them, too
  uint32_t queue_count; // at most WEIR_OPENCL_MOST_QUEUES
} weir_opencl_handles;

// Registers a device of the caller's, for any number of contexts. Its name, "opencl:shared1" and so on, is for
// weir_context_options.devices; `size` 32 is enough. Its memory is memory objects. A context with WEIR_CONTEXT_TRACE needs queues
// that keep times (CL_QUEUE_PROFILING_ENABLE). Errors: INVALID_ARGUMENT (something is missing, a device that is not the context's,
// a queue of another context or device or one that is out of order, `size` too small), UNAVAILABLE (no loader, OpenCL older than
// 1.2), OUT_OF_MEMORY. Any thread.
WEIR_API weir_status weir_opencl_register_sized(const weir_opencl_handles *handles, size_t handles_size, char *out_name,
                                                uint64_t size);
static inline weir_status weir_opencl_register(const weir_opencl_handles *handles_, char *out_name_, uint64_t size_) {
  return weir_opencl_register_sized(handles_, sizeof *handles_, out_name_, size_);
}

// Forgets the name; contexts that use the device go on. Errors: INVALID_ARGUMENT (no such name).
WEIR_API weir_status weir_opencl_unregister(const char *name);

// Creates a buffer on `bytes` bytes, from byte `offset` on, of a cl_mem of the registered device's cl_context: a buffer, or a part of
// one (clCreateSubBuffer), that kernels and the host may read and write. `offset` is a multiple of the device's alignment
// (CL_DEVICE_MEM_BASE_ADDR_ALIGN). The buffer is tracked, never renamed or moved; what tasks of other devices write to it is copied
// back behind them (other devices with memory of their own only read it). Of buffers that share bytes Weir does not know that they
// do. Weir's reference to the cl_mem is dropped some time after weir_buffer_release, when the last task that uses it is done.
// Errors: INVALID_ARGUMENT, OUT_OF_RANGE (it leaves the cl_mem), OUT_OF_MEMORY.
WEIR_API weir_status weir_buffer_wrap_opencl(weir_device *device, void *cl_mem_object, uint64_t offset, uint64_t bytes,
                                             weir_buffer **out_buffer);

// Orders Weir after other OpenCL code: tasks that are submitted from now on, to any device, start when the cl_event, of any
// cl_context, is done. The caller does not wait, and sees to it that the event's queue is flushed; tasks that were submitted before
// go on. Where the event ends with an error, so does a task of its own in Weir's order, which weir_finish reports; the tasks after
// it run. A wait for an event that never ends ends when the context is cancelled. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY.
WEIR_API weir_status weir_opencl_wait_event(weir_device *device, void *cl_event_object);

// Orders other OpenCL code after Weir: makes a cl_event, of the registered device's cl_context and the caller's to release, that is
// done when the task of `event` is; if that fails, with CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST. With `event` NULL it is done
// when all tasks submitted so far are, whether they fail or not. Commands that wait for it belong into queues that Weir does not
// use, where they would hold up its tasks. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY.
WEIR_API weir_status weir_opencl_create_event(weir_device *device, weir_event *event, void **out_cl_event);

#ifdef __cplusplus
}
#endif
#endif // WEIR_OPENCL_H
