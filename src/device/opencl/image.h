// SPDX-License-Identifier: Apache-2.0
//
// Images: storage that kernels see as an image, and all else as bytes without gaps. They are memory objects, also on devices whose
// other storage is shared virtual memory.
#ifndef WEIR_DEVICE_OPENCL_IMAGE_H
#define WEIR_DEVICE_OPENCL_IMAGE_H

#include "device/opencl/kernel.h"

struct weir__opencl_device;

typedef struct weir__opencl_image {
  uint32_t dimensions;
  size_t region[3]; // all of it
  cl_image_format format;
  uint32_t texel_bytes;
  const char *name;   // of the format: "rgba32f"
  bool storage;       // kernels write it
  cl_sampler sampler; // NULL: kernels do not sample it
} weir__opencl_image;

void weir__opencl_image_free(const weir__opencl_driver *driver, weir__opencl_image *image);

// Of the device's table of functions; images are released as all that wraps memory.
weir_status weir__opencl_image_make(weir_device *device, const weir_image_info *info, void **out_memory,
                                    uint64_t *out_bytes);
bool weir__opencl_copies_image(const weir_device *device, const weir_buffer *to, uint64_t to_offset,
                               const weir_buffer *from, uint64_t from_offset, uint32_t pattern);

// Notes what the kernel's argument `index` is, if it is an image or a sampler, where the driver tells. A sampler is not the task's:
// `*out_is_sampler`. The kernel's name is for messages.
weir_status weir__opencl_image_argument(const struct weir__opencl_device *device, const char *name, cl_kernel kernel,
                                        cl_uint index, weir__opencl_kernel *opencl, bool *out_is_sampler);

// Refuses a buffer where the kernel has an image, and an image where it has something else.
weir_status weir__opencl_image_check(const struct weir__opencl_device *device, const weir_task *task, uint32_t index);

// Gives the kernel's samplers the samplers of their images, which are among the task's arguments.
cl_int weir__opencl_set_samplers(struct weir__opencl_device *device, const weir__opencl_kernel *opencl,
                                 cl_kernel kernel, const weir__opencl_argument *arguments);

#endif // WEIR_DEVICE_OPENCL_IMAGE_H
