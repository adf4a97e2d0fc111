// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_BENCH_COMMON_CLOCK_H
#define WEIR_BENCH_COMMON_CLOCK_H

#include <time.h>

// Seconds of the monotonic clock.
static inline double weir__bench_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#endif // WEIR_BENCH_COMMON_CLOCK_H
