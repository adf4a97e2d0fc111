// SPDX-License-Identifier: Apache-2.0
//
// Time: nanoseconds of the monotonic clock, and a counter that is cheap to read for measuring short tasks.
#ifndef WEIR_BASE_CLOCK_H
#define WEIR_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t weir__clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// A counter that grows steadily, in units of its own.
static inline uint64_t weir__ticks(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return weir__clock_ns();
#endif
}

// How many ticks a microsecond has, measured once per process (takes about 200 us the first time). Thread-safe.
uint64_t weir__ticks_per_us(void);

#endif // WEIR_BASE_CLOCK_H
