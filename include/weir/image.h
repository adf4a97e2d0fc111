// SPDX-License-Identifier: Apache-2.0
//
// Images: buffers that kernels of Vulkan and OpenCL devices see as images. weir/vulkan.h and weir/opencl.h include this.
#ifndef WEIR_IMAGE_H
#define WEIR_IMAGE_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// What a channel of a texel is. UNORM8: a byte that kernels see as a float from 0 to 1.
typedef enum weir_image_type {
  WEIR_IMAGE_FLOAT32,
  WEIR_IMAGE_FLOAT16,
  WEIR_IMAGE_INT32,
  WEIR_IMAGE_UINT32,
  WEIR_IMAGE_INT16,
  WEIR_IMAGE_UINT16,
  WEIR_IMAGE_INT8,
  WEIR_IMAGE_UINT8,
  WEIR_IMAGE_UNORM8,
} weir_image_type;

// Shape and use of an image.
typedef struct weir_image_info {
  uint32_t dimensions;           // 1 to 3
  uint32_t width, height, depth; // in texels; height and depth 0 count as 1
  weir_image_type type;
  uint32_t channels; // 1, 2 or 4
  bool storage;      // kernels load and store texels: Vulkan's image1D to image3D, OpenCL's image1d_t to image3d_t
  bool sampled;      // kernels sample it: sampler1D to sampler3D, or an image with a sampler_t; one of the two at least
  bool linear;       // samples are mixed from their neighbours, else the nearest texel
  bool repeat;       // outside, it is repeated, else its edge counts
} weir_image_info;

// Creates an image of a Vulkan or OpenCL device: a buffer that its kernels see as an image, and all else as its texels, row by row
// without gaps. It is zero at first. Tasks name it as any buffer, but always whole; a task of another device finds its bytes.
// Copies are of the whole image. Buffer and image may be copied to each other, and images that differ in shape, if they have as
// many bytes. It stays where it is: it is never renamed. Its memory is not counted in the context's limit, and is freed some time
// after weir_buffer_release, when the last task that uses it is done.
// Errors: INVALID_ARGUMENT, UNAVAILABLE (the device has no such images; the text lists those that it has; an OpenCL device that
// works in the host's memory has none), OUT_OF_MEMORY.
WEIR_API weir_status weir_image_create_sized(weir_device *device, const weir_image_info *info, size_t info_size,
                                             weir_buffer **out_buffer);
static inline weir_status weir_image_create(weir_device *device_, const weir_image_info *info_,
                                            weir_buffer **out_buffer_) {
  return weir_image_create_sized(device_, info_, sizeof *info_, out_buffer_);
}

#ifdef __cplusplus
}
#endif
#endif // WEIR_IMAGE_H
