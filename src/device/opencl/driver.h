// SPDX-License-Identifier: Apache-2.0
//
// The OpenCL loader and what it lists, loaded at run time.
#ifndef WEIR_DEVICE_OPENCL_DRIVER_H
#define WEIR_DEVICE_OPENCL_DRIVER_H

#include <stdbool.h>

#include "device/opencl/symbols.h"
#include "weir/weir.h"

enum { WEIR__OPENCL_MOST_DEVICES = 64, WEIR__OPENCL_TEXT_BYTES = 128 };

// A device of the machine: numbers count over all platforms, in the loader's order.
typedef struct weir__opencl_listed {
  cl_platform_id platform;
  cl_device_id device;
  char platform_name[WEIR__OPENCL_TEXT_BYTES];
  char name[WEIR__OPENCL_TEXT_BYTES];
  char identity[5 * WEIR__OPENCL_TEXT_BYTES]; // what decides whether a binary fits
  cl_bitfield type, svm;
  cl_uint units;
  bool exact; // it divides floats and takes their roots with correct rounding, if asked to
  bool has_il, has_svm;
  uint32_t version; // of OpenCL: 120 for 1.2
  char reason[96];  // why Weir cannot use it; "": it can
} weir__opencl_listed;

typedef struct weir__opencl_driver {
#define WEIR__OPENCL_MEMBER(result, name, need, parameters) result(*name) parameters;
  WEIR__OPENCL_SYMBOLS(WEIR__OPENCL_MEMBER)
#undef WEIR__OPENCL_MEMBER
  uint32_t count;
  weir__opencl_listed devices[WEIR__OPENCL_MOST_DEVICES];
} weir__opencl_driver;

// The loader: libOpenCL.so.1, or the file that the environment variable WEIR_OPENCL_LOADER names. It is loaded, and asked for
// its devices, by the first call that succeeds, and stays loaded. NULL: there is none or it lists no device, and `reason` says
// so; a later call tries again. Any thread.
const weir__opencl_driver *weir__opencl_driver_load(char *reason, size_t size);

// What a device is.
void weir__opencl_describe(const weir__opencl_driver *driver, cl_platform_id platform, cl_device_id device,
                           weir__opencl_listed *out_listed);

// Makes an in-order queue, which keeps times if it `traces`. NULL: not, and `*out_result` says why.
cl_command_queue weir__opencl_queue_create(const weir__opencl_driver *driver, const weir__opencl_listed *listed,
                                           cl_context context, cl_device_id device, bool traces, cl_int *out_result);

// "CL_OUT_OF_RESOURCES", or "OpenCL error -9999". Returns `text`.
const char *weir__opencl_result_text(cl_int result, char *text, size_t size);

// The status of a result: OUT_OF_MEMORY, INVALID_ARGUMENT for what the caller passed, UNAVAILABLE for what the machine lacks,
// else TASK_FAILED.
weir_status weir__opencl_status(cl_int result);

// Sets weir_last_error() to what was tried, followed by the result's text, and returns the result's status. WEIR_OK, and no
// text, for CL_SUCCESS.
__attribute__((format(printf, 2, 3))) weir_status weir__opencl_error(cl_int result, const char *format, ...);

// Whether the machine has an OpenCL device that Weir can use, and one line for people.
bool weir__opencl_probe(char *text, size_t size);

#endif // WEIR_DEVICE_OPENCL_DRIVER_H
