// SPDX-License-Identifier: Apache-2.0
//
// Samples of a time, and memory that never fails; for the programs that measure cards.
#ifndef WEIR_BENCH_GPU_TIMING_H
#define WEIR_BENCH_GPU_TIMING_H

#include <stddef.h>
#include <stdint.h>

// Memory of `count` zeroed items; ends the program when there is none.
void *gpu_memory(size_t count, size_t size);

typedef struct gpu_stat {
  double median, low, high; // low and high: the tenth and the ninetieth percentile
} gpu_stat;

double gpu_now_us(void);

// Sorts `samples`.
gpu_stat gpu_statistics(double *samples, uint32_t count);

#endif // WEIR_BENCH_GPU_TIMING_H
