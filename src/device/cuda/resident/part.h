// SPDX-License-Identifier: Apache-2.0
//
// Compiled code that waits to be linked into the resident kernel, as compile.c makes it and link.c takes it.
#ifndef WEIR_DEVICE_CUDA_RESIDENT_PART_H
#define WEIR_DEVICE_CUDA_RESIDENT_PART_H

#include "base/hash.h"
#include "device/cuda/resident/link.h"

// protocol.h and kernel.cu, one behind the other: made by embed.cmake.
extern const char weir__resident_source[];

// The code of one source and options for one compute capability: a relocatable cubin, or PTX for a device that is newer than
// the compiler. Counted: parts hold it, and code of kernels holds that of the resident kernel.
typedef struct weir__resident_image {
  struct weir__resident_image *next; // of all
  struct weir__resident_image *base; // the resident kernel's; NULL: this is it
  uint32_t references;
  int capability;
  weir__hash id; // of source and options
  void *data;
  size_t bytes;
  bool known;            // a cubin that could be read:
  uint64_t shared_bytes; // of all its functions
} weir__resident_image;

struct weir__resident_part {
  weir__resident_part *next; // of all
  weir__resident_image *image;
  uint32_t references;
  uint32_t threads; // of a work-group
  char *kernel;     // the name in the source
  char *pointer;    // name of the variable that holds the function's address
};

// The resident kernel's own code, retained. `kernel` is named in messages. Errors: as weir__nvrtc_compile.
weir_status weir__resident_base(weir__cuda_device *device, const char *kernel, weir__resident_image **out_image);
void weir__resident_image_release(weir__resident_image *image); // NULL is allowed

// How much shared memory the functions of all parts may have together.
weir_status weir__resident_shared_limit(const weir__cuda_device *device, uint64_t *out_bytes);

#endif // WEIR_DEVICE_CUDA_RESIDENT_PART_H
