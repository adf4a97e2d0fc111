// SPDX-License-Identifier: Apache-2.0
#include "stream/stream.h"

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static uint32_t blocks_per_sm(const weir__stream_kernel *kernel) {
  uint64_t threads = (uint64_t)kernel->block[0] * kernel->block[1] * kernel->block[2];
  threads = (threads + 31) / 32 * 32;
  uint64_t registers = ((uint64_t)kernel->registers + 7) / 8 * 8 * threads;
  uint64_t blocks = least(2048 / threads, 32);
  if (registers > 0) blocks = least(blocks, 65536 / registers);
  blocks = least(blocks, 227 * 1024 / ((uint64_t)kernel->shared_bytes + 1024));
  return blocks > 0 ? (uint32_t)blocks : 1;
}

void weir__stream_kernel_cost(const weir__stream_kernel *kernel, uint32_t sms, weir__stream_cost *out_cost) {
  *out_cost = (weir__stream_cost){.us = kernel->us};
  if (kernel->copy_bytes > 0) {
    out_cost->work_us = 0.05 * kernel->us;
    return;
  }
  out_cost->blocks_per_sm = blocks_per_sm(kernel);
  out_cost->blocks = (uint64_t)kernel->grid[0] * kernel->grid[1] * kernel->grid[2];
  out_cost->capacity = (uint64_t)out_cost->blocks_per_sm * sms;
  out_cost->waves = (out_cost->blocks + out_cost->capacity - 1) / out_cost->capacity;
  out_cost->work_us = kernel->us * (double)out_cost->blocks / ((double)out_cost->waves * (double)out_cost->capacity);
}

double weir__stream_task_us(const weir__stream_task *task) {
  double us = 0;
  for (uint32_t i = 0; i < task->kernel_count; i++) us += task->kernels[i].us;
  return us;
}

double weir__stream_task_work_us(const weir__stream_task *task, uint32_t sms) {
  double us = 0;
  for (uint32_t i = 0; i < task->kernel_count; i++) {
    weir__stream_cost cost;
    weir__stream_kernel_cost(&task->kernels[i], sms, &cost);
    us += cost.work_us;
  }
  return us;
}
