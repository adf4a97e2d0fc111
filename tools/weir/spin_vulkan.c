// SPDX-License-Identifier: Apache-2.0
#include "spin_vulkan.h"

#include "spin.h"

enum { WARP = 32, SM_THREADS = 2048, SM_GROUPS = 32, GROUP_SHARED = 1024, SHARED_STEP = 128 };

// Blocks of so many threads that a multiprocessor holds.
static uint32_t blocks_by_threads(uint32_t threads) {
  uint32_t blocks = SM_THREADS / ((threads + WARP - 1) / WARP * WARP);
  return blocks < SM_GROUPS ? blocks : SM_GROUPS;
}

// Sets threads and shared memory.
static void occupy(uint32_t blocks, uint32_t threads, const weir__spin_vulkan_limits *limits,
                   weir__spin_vulkan_dispatch *dispatch) {
  dispatch->threads = threads <= limits->threads ? threads : limits->threads;
  if (blocks >= blocks_by_threads(threads)) return;
  uint32_t of_all = limits->shared_bytes + limits->shared_bytes / 8, share = of_all / blocks;
  if (share < GROUP_SHARED + SHARED_STEP) return;
  uint32_t shared = (share - GROUP_SHARED) / SHARED_STEP * SHARED_STEP;
  dispatch->shared_bytes = shared < limits->shared_bytes ? shared : limits->shared_bytes / SHARED_STEP * SHARED_STEP;
}

static void spread(uint64_t groups, uint64_t groups_x, uint32_t out_groups[3]) {
  uint64_t rows = (groups + groups_x - 1) / groups_x;
  out_groups[0] = (uint32_t)((groups + rows - 1) / rows);
  out_groups[1] = (uint32_t)rows;
  out_groups[2] = 1;
}

void weir__spin_vulkan_shape(const weir__stream_kernel *kernel, uint32_t sms, const weir__spin_vulkan_limits *limits,
                             weir__spin_vulkan_dispatch *out_dispatch) {
  double us = kernel->us > WEIR__SPIN_EMPTY_US ? kernel->us - WEIR__SPIN_EMPTY_US : 0;
  if (kernel->copy_bytes > 0) {
    uint32_t threads = limits->threads < 256 ? limits->threads : 256;
    *out_dispatch = (weir__spin_vulkan_dispatch){.groups = {8, 1, 1}, .threads = threads, .us = us};
    return;
  }
  weir__stream_cost cost;
  weir__stream_kernel_cost(kernel, sms, &cost);
  *out_dispatch = (weir__spin_vulkan_dispatch){.us = us / (double)cost.waves};
  occupy(cost.blocks_per_sm, kernel->block[0] * kernel->block[1] * kernel->block[2], limits, out_dispatch);
  spread(cost.blocks, limits->groups_x, out_dispatch->groups);
}
