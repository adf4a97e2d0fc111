// SPDX-License-Identifier: Apache-2.0
//
// Weir on OpenCL: kernels as OpenCL C or SPIR-V.
//
// A context has OpenCL devices when its list of devices names them: "opencl" or "opencl:0", "opencl:1", counted over all
// platforms in the order in which the OpenCL loader lists them; and "opencl:0/2.1", part 1 (of 0 and 1) of device 0 cut into
// two parts with as many compute units each. The loader is found at run time; nothing of OpenCL is needed to build or to link.
// `weir info` says what a machine has or lacks. A device needs shared virtual memory (OpenCL 2.0 or later).
//
// The binding model: argument i of the task is argument i of the kernel. A buffer is a __global (or __constant) pointer to the
// first byte of the task's range, which may lie anywhere in the buffer; a value is its bytes, which must have the size of the
// kernel's argument. Arguments of __local memory come after these, and are not the task's.
#ifndef WEIR_OPENCL_H
#define WEIR_OPENCL_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WEIR_OPENCL_MOST_LOCAL = 8 };

// Where the code of a kernel comes from: exactly one of `source` and `spirv` is set.
typedef struct weir_opencl_code {
  const char *source;   // OpenCL C; what it is built to is kept in a cache on disk (see docs/opencl.md)
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
} weir_opencl_launch;

// Gives a kernel its code for the context's OpenCL devices. It is built at once, on each of them; code that several kernels
// share is built once.
// Errors: INVALID_ARGUMENT (source that does not build: the text holds the log of the build; no such kernel in it, a work-group or
// local memory larger than the device allows, a work-group that the code asks to be another), UNAVAILABLE (the context has no
// OpenCL device; a device that does not take SPIR-V), OUT_OF_MEMORY.
WEIR_API weir_status weir_kernel_set_opencl(weir_kernel *kernel, const weir_opencl_code *code,
                                            const weir_opencl_launch *launch);

#ifdef __cplusplus
}
#endif
#endif // WEIR_OPENCL_H
