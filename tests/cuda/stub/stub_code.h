// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are written once, on the stub: their functions for the CPU stand in for their CUDA code.
#ifndef WEIR_TESTS_CUDA_STUB_CODE_H
#define WEIR_TESTS_CUDA_STUB_CODE_H

#include <string.h>

#include "stub.h"
#include "weir/kernel.h"

enum { STUB_CODE_PARAMS = 12 };

// Runs work-groups [first, end) as the CPU device would. Parameters of 8 bytes are addresses. Nothing runs, and so results are
// wrong, if one is no address.
static inline void stub_run_groups(const stub_launch *launch, const weir_kernel_code *code, uint64_t first,
                                   uint64_t end) {
  void *args[STUB_CODE_PARAMS];
  weir_work work = {.args = args, .arg_count = launch->param_count, .first = first, .end = end};
  for (uint32_t i = 0; i < launch->param_count; i++) {
    args[i] = launch->params[i];
    if (launch->param_bytes[i] != 8) continue;
    uint64_t pointer;
    memcpy(&pointer, launch->params[i], sizeof pointer);
    args[i] = stub_memory(launch, pointer, 1);
    if (!args[i]) return;
  }
  memcpy(work.groups, launch->grid, sizeof work.groups);
  code->function(&work);
}

// The same for a launch; nothing runs if its block is not the kernel's.
static inline void stub_run_code(const stub_launch *launch, const weir_kernel_code *code) {
  uint64_t groups = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
  if (memcmp(launch->block, code->block, sizeof code->block) == 0) stub_run_groups(launch, code, 0, groups);
}

#endif // WEIR_TESTS_CUDA_STUB_CODE_H
