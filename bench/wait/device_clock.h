// SPDX-License-Identifier: Apache-2.0
//
// What kernels need besides weir/kernel.h, which comes before: the device's clock, and words that host and device
// share.
#ifndef WEIR_BENCH_WAIT_DEVICE_CLOCK_H
#define WEIR_BENCH_WAIT_DEVICE_CLOCK_H

#if WEIR_ON_CUDA

WEIR_FUNCTION uint64_t wait_clock_ns(void) {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}
WEIR_FUNCTION void wait_yield(void) {}
WEIR_FUNCTION uint64_t wait_read(const uint64_t *at) {
  uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
WEIR_FUNCTION void wait_write(uint64_t *at, uint64_t value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

#else

// The host's, in clocks.c.
uint64_t wait_clock_ns(void);
void wait_yield(void);

static inline uint64_t wait_read(const uint64_t *at) {
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}
static inline void wait_write(uint64_t *at, uint64_t value) {
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

#endif

#endif // WEIR_BENCH_WAIT_DEVICE_CLOCK_H
