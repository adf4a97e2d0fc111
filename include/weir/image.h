// SPDX-License-Identifier: Apache-2.0
//
// Images: buffers that kernels of Vulkan and OpenCL devices see as images. weir/vulkan.h and weir/opencl.h include this
// header.
#ifndef WEIR_IMAGE_H
#define WEIR_IMAGE_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// Type of a texel's channels. UNORM8 is a byte that kernels see as a float from 0 to 1.
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

// Shape and use of an image. `storage`, `sampled` or both must be set.
typedef struct weir_image_info {
  uint32_t dimensions;           // 1 to 3
  uint32_t width, height, depth; // in texels; height and depth 0 count as 1
  weir_image_type type;
  uint32_t channels; // of a texel: 1, 2 or 4
  bool storage;      // kernels load and store texels: Vulkan's image1D to image3D, OpenCL's image1d_t to image3d_t
  bool sampled;      // kernels sample it: Vulkan's sampler1D to sampler3D, OpenCL's image with a sampler_t
  bool linear;       // a sample is interpolated from its neighbours; else it is the nearest texel
  bool repeat;       // coordinates outside wrap around; else they are clamped to the edge
} weir_image_info;

// Creates an image of a Vulkan or OpenCL device. Kernels of that device see it as an image. Everything else sees it as
// a buffer with its texels, row by row without gaps. Its initial contents are 0.
// - Tasks name it like any buffer, but always whole. A task of another device gets its bytes.
// - Copies are of the whole image. Source and destination may be an image and a buffer, or images of different shapes,
//   with equal numbers of bytes.
// - It is never moved or renamed. The context's memory limit does not count its memory, which is freed some time after
//   weir_buffer_release, when the last task that uses it is done.
// Errors: INVALID_ARGUMENT, UNAVAILABLE (the device has no such images; the text lists those that it has. An OpenCL
// device that works in the host's memory has none), OUT_OF_MEMORY.
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
