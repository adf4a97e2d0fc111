// SPDX-License-Identifier: Apache-2.0
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>

#include "clock.h"

void *gpu_memory(size_t count, size_t size) {
  void *memory = calloc(count + 1, size);
  if (memory) return memory;
  fprintf(stderr, "no memory\n");
  exit(1);
}

double gpu_now_us(void) {
  return weir__bench_seconds() * 1e6;
}

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

gpu_stat gpu_statistics(double *samples, uint32_t count) {
  qsort(samples, count, sizeof *samples, ascending);
  return (gpu_stat){samples[count / 2], samples[count / 10], samples[count - 1 - count / 10]};
}
