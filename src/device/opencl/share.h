// SPDX-License-Identifier: Apache-2.0
//
// Devices, memory and order that are shared with other OpenCL code.
#ifndef WEIR_DEVICE_OPENCL_SHARE_H
#define WEIR_DEVICE_OPENCL_SHARE_H

#include "device/opencl/driver.h"
#include "device/registered.h"
#include "weir/opencl.h"
#include "window/task.h"

struct weir__opencl_device;

// A device of the caller's (registration.c), with references to its objects.
typedef struct weir__opencl_registration {
  weir__registered registered;
  const weir__opencl_driver *driver;
  weir__opencl_listed listed;
  cl_context context;
  bool keeps_times;     // all its queues do
  uint32_t queue_count; // 0: Weir makes its own
  cl_command_queue queues[WEIR_OPENCL_MOST_QUEUES];
} weir__opencl_registration;

// Takes a reference. Sets weir_last_error() on failure.
weir_status weir__opencl_registration_take(const char *argument, weir__opencl_registration **out_registration);
void weir__opencl_registration_give(weir__opencl_registration *registration);

// Refuses what is no OpenCL device, or not a registered one.
weir_status weir__opencl_check_device(const weir_device *device, bool registered, const char *what);

// Takes a cl_mem of the caller's for a buffer on a part of it. `*out_memory` is where the part is for Weir.
weir_status weir__opencl_wrap(struct weir__opencl_device *device, cl_mem memory, uint64_t offset, uint64_t bytes,
                              void **out_memory);

// A buffer on a cl_mem, or an image, was released: of the device's table of functions. It is let go when its last task is done, by the
// second, which is called with the context's lock held.
void weir__opencl_released(weir_device *device, void *memory, bool image, weir__id last_use);
void weir__opencl_sweep(struct weir__opencl_device *device);

#endif // WEIR_DEVICE_OPENCL_SHARE_H
