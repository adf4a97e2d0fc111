// SPDX-License-Identifier: Apache-2.0
//
// Code of kernels for OpenCL devices: kernels that are built and ready to be launched.
#ifndef WEIR_DEVICE_OPENCL_KERNEL_H
#define WEIR_DEVICE_OPENCL_KERNEL_H

#include "device/enqueue.h"
#include "device/host.h"
#include "device/opencl/driver.h"
#include "weir/opencl.h"

// An argument of a launch.
typedef struct weir__opencl_argument {
  const void *value; // bytes, or the address itself
  uint64_t bytes;    // 0: an address
  uint64_t range;    // of an address: the bytes that the task names
} weir__opencl_argument;

enum { WEIR__OPENCL_KNOWN_KINDS = 64, WEIR__OPENCL_MOST_SAMPLERS = 16 };

typedef struct weir__opencl_kernel {
  weir__code head;
  const weir__opencl_driver *driver;
  cl_kernel kernels[WEIR__MAX_DEVICES]; // by index of the device in the context; NULL: no code there
  char entry[64];                       // cut, for messages
  uint32_t groups[3];                   // all 0: the task's
  size_t local[3];
  uint32_t argument_count;         // of the task: the kernel's without samplers and those of local memory
  uint64_t is_pointer, is_value;   // a bit for each of the first 64, where the driver tells
  uint64_t is_image, writes_image; // the same
  uint8_t image_dimensions[WEIR__OPENCL_KNOWN_KINDS];
  uint8_t uses[WEIR__OPENCL_KNOWN_KINDS];             // of pointers: bits of device/use.h, as qualifiers say
  uint32_t value_bytes[WEIR__OPENCL_KNOWN_KINDS];     // of values; 0: not known
  bool untold;                                        // some device's driver does not tell all, so the two do not count
  uint32_t sampler_count;                             // arguments that are the sampler of the image before them
  uint8_t sampler_images[WEIR__OPENCL_MOST_SAMPLERS]; // the task's arguments that these images are, in order
  uint32_t local_count;                               // arguments of local memory, which come last
  uint64_t local_bytes[WEIR_OPENCL_MOST_LOCAL];       // of each
  weir__opencl_argument value;                        // bytes not 0: the only argument; owned
} weir__opencl_kernel;

// The kernel's argument that the task's is; `index` argument_count and on: of local memory.
static inline uint32_t weir__opencl_place(const weir__opencl_kernel *opencl, uint32_t index) {
  uint32_t before = 0;
  while (before < opencl->sampler_count && opencl->sampler_images[before] < index) before++;
  return index + before;
}

// NULL: the kernel has none.
static inline weir__opencl_kernel *weir__opencl_code_of(const weir_kernel *kernel) {
  return (weir__opencl_kernel *)(void *)kernel->code[WEIR__CODE_OPENCL];
}

// Checks a task against what the kernel takes: number and kinds of arguments, sizes of values, modes that qualifiers refute
// (device/use.h). The text names the task.
weir_status weir__opencl_kernel_check(const weir_device *device, const weir_task *task);

// weir__device_ops.use: by `const`, `__constant` and the access qualifiers of images.
uint8_t weir__opencl_kernel_use(const weir_device *device, const weir_task *task, uint32_t index);

#endif // WEIR_DEVICE_OPENCL_KERNEL_H
