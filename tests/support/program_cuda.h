// SPDX-License-Identifier: Apache-2.0
//
// The kernels of random programs on CUDA devices: program_bodies.c, compiled by NVRTC, or, where the driver is the stub of
// tests/cuda/stub, functions of this process.
#ifndef WEIR_TESTS_PROGRAM_CUDA_H
#define WEIR_TESTS_PROGRAM_CUDA_H

#include <stdint.h>

#include "stub.h"
#include "weir/weir.h"

// The stub's functions; NULL where the driver is not the stub.
typedef struct program_stub {
  bool (*configure)(const stub_options *options);
  uint64_t (*violations)(void);
  const char *(*violation_text)(void);
  uint64_t (*live_count)(void);
  void (*register_function)(const char *name, stub_function function);
  void (*register_groups)(const char *name, stub_group_function function);
  void *(*memory)(const stub_launch *launch, uint64_t pointer, uint64_t bytes);
} program_stub;

// Loads it on the first call, if WEIR_CUDA_DRIVER names it.
const program_stub *program_stub_load(void);

// The image of the kernels for the stub.
const char *program_cuda_image(bool packed);

// Gives a kernel its code for tasks with `arg_count` arguments besides the description. `packed`: that is a body_packed.
// `fits`: a resident kernel can run it, if it is packed.
weir_status program_cuda_set(weir_kernel *kernel, uint32_t arg_count, bool packed, bool fits);

#endif // WEIR_TESTS_PROGRAM_CUDA_H
