// SPDX-License-Identifier: Apache-2.0
//
// Weir on OpenCL: kernels as OpenCL C or SPIR-V, and sharing of devices, memory and events with other OpenCL code.
//
// A context has the OpenCL devices that its list of devices names. "opencl" or "opencl:0", "opencl:1" count the devices
// of all platforms in the order of the OpenCL loader. "opencl:0/2.1" is part 1, of 0 and 1, of device 0 cut into two
// parts with as many compute units each. The loader is found at run time; neither building nor linking needs anything
// of OpenCL. `weir info` says what a machine has or lacks. A device needs OpenCL 1.2 or later.
//
// Binding model: argument i of the task is argument i of the kernel.
// - A buffer is a __global or __constant pointer to the first byte of the task's range. On a device without shared
//   virtual memory the range must begin at a multiple of the device's alignment, which the error's text has.
// - A value is its bytes, as many as the kernel's argument has.
// - An image (weir/image.h) is an image1d_t, image2d_t or image3d_t. A sampler_t that follows it is the image's
//   sampler, and is no argument of the task.
// - Arguments of __local memory come last, and are no arguments of the task.
#ifndef WEIR_OPENCL_H
#define WEIR_OPENCL_H

#include "weir/image.h"
#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WEIR_OPENCL_MOST_LOCAL = 8, WEIR_OPENCL_MOST_QUEUES = 64 };

// Code of a kernel. Exactly one of `source` and `spirv` is set.
typedef struct weir_opencl_code {
  const char *source;   // OpenCL C; its build is cached on disk (docs/guide/opencl.md)
  const void *spirv;    // SPIR-V, for devices that accept it
  uint64_t spirv_bytes; // size of `spirv`
  const char *options;  // of the build, separated by spaces; NULL: none
  bool exact;           // round divisions and square roots of floats correctly, where the device offers it
} weir_opencl_code;

// One launch.
typedef struct weir_opencl_launch {
  const char *entry;                            // name of the kernel in the code
  uint32_t groups[3];                           // work-groups in x, y, z; all 0: the task's
  uint32_t local[3];                            // work-items of a work-group in x, y, z; 0 counts as 1
  uint64_t local_bytes[WEIR_OPENCL_MOST_LOCAL]; // sizes of the kernel's last arguments, which are of __local memory
  uint32_t local_count;                         // number of these arguments
  const void *value;    // if not NULL, the kernel has one argument in place of the task's: these bytes, which are
  uint32_t value_bytes; // copied, and their number
  uint64_t reserved[2]; // 0
} weir_opencl_launch;

// Gives a kernel its code for the context's OpenCL devices. Each of them builds the code at once. Code that several
// kernels share is built once.
// Errors: INVALID_ARGUMENT (source that does not build, where the text has the log; no such kernel; a work-group or
// local memory larger than the device allows; a work-group size that contradicts the code; tasks in flight that use the
// kernel's code for OpenCL), UNAVAILABLE (the context has no OpenCL device; a device that does not accept SPIR-V),
// OUT_OF_MEMORY.
WEIR_API weir_status weir_kernel_set_opencl_sized(weir_kernel *kernel, const weir_opencl_code *code, size_t code_size,
                                                  const weir_opencl_launch *launch);
static inline weir_status weir_kernel_set_opencl(weir_kernel *kernel_, const weir_opencl_code *code_,
                                                 const weir_opencl_launch *launch_) {
  return weir_kernel_set_opencl_sized(kernel_, code_, sizeof *code_, launch_);
}

// ---------------------------------------------------------------------------------------------------------------
// Sharing with other OpenCL code (docs/guide/opencl.md has an example)
//
// OpenCL objects are passed as void *, so this header needs no OpenCL header. They belong to a cl_context, so sharing
// begins with a device of the caller's. Weir holds references to the objects that it uses; the caller may release its
// own references at any time.

// A device of the caller's.
typedef struct weir_opencl_handles {
  void *context; // cl_context
  void *device;  // cl_device_id of the context
  // cl_command_queue of this context and device, in order, for Weir to use. The caller may use them, too. NULL: Weir
  // makes queues of its own.
  void *const *queues;
  uint32_t queue_count; // at most WEIR_OPENCL_MOST_QUEUES
} weir_opencl_handles;

// Registers a device of the caller's, for any number of contexts. `out_name` gets its name, "opencl:shared1" and so on,
// for weir_context_options.devices; a `size` of 32 bytes is enough. The device's memory is memory objects. For a
// context with WEIR_CONTEXT_TRACE the queues must record times (CL_QUEUE_PROFILING_ENABLE).
// Errors: INVALID_ARGUMENT (a handle is missing; a device that is not the context's; a queue of another context or
// device, or out of order; `size` too small), UNAVAILABLE (no loader; OpenCL older than 1.2), OUT_OF_MEMORY.
WEIR_API weir_status weir_opencl_register_sized(const weir_opencl_handles *handles, size_t handles_size, char *out_name,
                                                uint64_t size);
static inline weir_status weir_opencl_register(const weir_opencl_handles *handles_, char *out_name_, uint64_t size_) {
  return weir_opencl_register_sized(handles_, sizeof *handles_, out_name_, size_);
}

// Removes the name of a registered device. Contexts that use the device go on.
// Errors: INVALID_ARGUMENT (no such name).
WEIR_API weir_status weir_opencl_unregister(const char *name);

// Creates a buffer on a cl_mem of the registered device's cl_context: `bytes` bytes from byte `offset` on. The cl_mem
// is a buffer, or a part of one (clCreateSubBuffer), that kernels and the host may read and write. `offset` is a
// multiple of the device's alignment (CL_DEVICE_MEM_BASE_ADDR_ALIGN). Weir orders the uses of the buffer, and never
// renames or moves it. Bytes that tasks of other devices write are copied back after these tasks; other devices with
// memory of their own only read it. Weir does not detect buffers that share bytes of a cl_mem. It drops its reference
// to the cl_mem some time after weir_buffer_release, when the last task that uses the buffer is done.
// Errors: INVALID_ARGUMENT, OUT_OF_RANGE (it leaves the cl_mem), OUT_OF_MEMORY.
WEIR_API weir_status weir_buffer_wrap_opencl(weir_device *device, void *cl_mem_object, uint64_t offset, uint64_t bytes,
                                             weir_buffer **out_buffer);

// Orders later tasks, on all devices, after a cl_event of any cl_context. Earlier tasks are not affected. The call does
// not wait, and the caller must flush the event's queue. If the event ends with an error, weir_finish reports it; the
// tasks after it run. Cancelling the context ends the wait for an event that never ends.
// Errors: INVALID_ARGUMENT, OUT_OF_MEMORY.
WEIR_API weir_status weir_opencl_wait_event(weir_device *device, void *cl_event_object);

// Makes an external event (weir/external.h) of a cl_event of any cl_context. It is done when the cl_event is complete,
// and fails with TASK_FAILED if that ends with an error. The caller releases it. The call does not wait, and the caller
// must flush the cl_event's queue. Tasks that come after it are enqueued once the host has seen the cl_event's end: in
// a wait list a cl_event that fails would keep them from running, and a queue that waits would hold back other tasks.
// Errors: INVALID_ARGUMENT, OUT_OF_MEMORY.
WEIR_API weir_status weir_opencl_import_event(weir_device *device, void *cl_event_object, weir_event **out_event);

// Creates a cl_event, of the registered device's cl_context, that completes when the task of `event` is done. The
// caller releases it. If the task fails, it ends with CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST. If `event` is NULL,
// it completes when all tasks submitted so far are done, whether they fail or not. Commands that wait for it belong
// into queues that Weir does not use: in Weir's queues they would hold up tasks.
// Errors: INVALID_ARGUMENT, OUT_OF_MEMORY.
WEIR_API weir_status weir_opencl_create_event(weir_device *device, weir_event *event, void **out_cl_event);

#ifdef __cplusplus
}
#endif
#endif // WEIR_OPENCL_H
