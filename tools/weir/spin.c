// SPDX-License-Identifier: Apache-2.0
#include "spin.h"

#include <string.h>

const char weir__spin_source[] = "typedef unsigned long long u64;\n"
                                 "static __device__ u64 nanoseconds() {\n"
                                 "  u64 now;\n"
                                 "  asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(now));\n"
                                 "  return now;\n"
                                 "}\n"
                                 "#ifdef WEIR__SPIN_CLOCK64\n"
                                 "static __device__ u64 now() { return (u64)clock64(); }\n"
                                 "#else\n"
                                 "static __device__ u64 now() { return nanoseconds(); }\n"
                                 "#endif\n"
                                 "static __device__ void leave_room() {\n"
                                 "#if __CUDA_ARCH__ >= 700\n"
                                 "  __nanosleep(20);\n"
                                 "#endif\n"
                                 "}\n"
                                 "extern \"C\" __global__ void spin(u64 ticks) {\n"
                                 "  u64 start = now();\n"
                                 "  while (now() - start < ticks) leave_room();\n"
                                 "}\n"
                                 "static __device__ u64 ticks_while(u64 ns) {\n"
                                 "  u64 start = nanoseconds(), first = (u64)clock64();\n"
                                 "  while (nanoseconds() - start < ns) {\n"
                                 "  }\n"
                                 "  return (u64)clock64() - first;\n"
                                 "}\n"
                                 "extern \"C\" __global__ void spin_measure(u64 *out) {\n"
                                 "  enum { STEPS = 100, MILLISECOND = 1000000 };\n"
                                 "  u64 start = nanoseconds(), last = start;\n"
                                 "  for (int step = 0; step < STEPS; step++) {\n"
                                 "    u64 next = last;\n"
                                 "    while (next == last) next = nanoseconds();\n"
                                 "    last = next;\n"
                                 "  }\n"
                                 "  out[0] = (last - start) / STEPS;\n"
                                 "  out[1] = 0;\n"
                                 "  if (out[0] <= 64) return;\n"
                                 "  ticks_while(200ull * MILLISECOND);\n" // lets the card reach its clock
                                 "  out[1] = ticks_while(50ull * MILLISECOND) / 50;\n"
                                 "}\n";

// Shared memory with which `blocks` blocks fit a multiprocessor and no more.
static uint32_t shared_bytes(uint32_t blocks, uint32_t threads) {
  uint32_t by_threads = 2048 / ((threads + 31) / 32 * 32);
  if (blocks >= (by_threads < 32 ? by_threads : 32)) return 0;
  return (227 * 1024 / blocks - 1024) / 128 * 128;
}

void weir__spin_shape(const weir__stream_kernel *kernel, uint32_t sms, weir__spin_launch *out_launch) {
  double us = kernel->us > WEIR__SPIN_EMPTY_US ? kernel->us - WEIR__SPIN_EMPTY_US : 0;
  if (kernel->copy_bytes > 0) {
    *out_launch = (weir__spin_launch){.grid = {8, 1, 1}, .block = {256, 1, 1}, .us = us};
    return;
  }
  weir__stream_cost cost;
  weir__stream_kernel_cost(kernel, sms, &cost);
  uint32_t threads = kernel->block[0] * kernel->block[1] * kernel->block[2];
  *out_launch =
      (weir__spin_launch){.shared_bytes = shared_bytes(cost.blocks_per_sm, threads), .us = us / (double)cost.waves};
  memcpy(out_launch->grid, kernel->grid, sizeof out_launch->grid);
  memcpy(out_launch->block, kernel->block, sizeof out_launch->block);
}

void weir__spin_groups_shape(const weir__stream_kernel *kernel, uint32_t sms, weir__spin_launch *out_launch) {
  weir__spin_shape(kernel, sms, out_launch);
  uint64_t blocks = (uint64_t)out_launch->grid[0] * out_launch->grid[1] * out_launch->grid[2];
  uint64_t per_sm = 2048 / 256; // of a copy
  if (kernel->copy_bytes == 0) {
    weir__stream_cost cost;
    weir__stream_kernel_cost(kernel, sms, &cost);
    per_sm = cost.blocks_per_sm;
  }
  uint64_t groups = (blocks * WEIR__SPIN_WORKERS + per_sm - 1) / per_sm;
  *out_launch = (weir__spin_launch){.grid = {(uint32_t)groups, 1, 1}, .block = {128, 1, 1}, .us = out_launch->us};
}
