// SPDX-License-Identifier: Apache-2.0
//
// Part of protocol.h, which includes it: each access to what is shared, on the card and in C threads, and how the lanes of the
// scheduler pass values.
#ifndef WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_MEMORY_H
#define WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_MEMORY_H

// Memory: one function for each kind of access to what is shared. `card`: the card's memory, among its threads; `host`:
// the host's memory, between host and card.

#if defined(__CUDACC__)

WEIR__R_FUNCTION uint32_t weir__r_load(const uint32_t *at) {
  uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
WEIR__R_FUNCTION uint32_t weir__r_load_acquire(const uint32_t *at) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
WEIR__R_FUNCTION uint64_t weir__r_load_long(const uint64_t *at) {
  uint64_t value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
WEIR__R_FUNCTION uint64_t weir__r_load_long_acquire(const uint64_t *at) {
  uint64_t value;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
WEIR__R_FUNCTION void weir__r_store_long(uint64_t *at, uint64_t value) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}
WEIR__R_FUNCTION void weir__r_store_long_release(uint64_t *at, uint64_t value) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}
WEIR__R_FUNCTION void weir__r_store_release(uint32_t *at, uint32_t value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
WEIR__R_FUNCTION uint32_t weir__r_add_relaxed(uint32_t *at, uint32_t value) { // returns what was there
  uint32_t old;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(value) : "memory");
  return old;
}
WEIR__R_FUNCTION uint32_t weir__r_add(uint32_t *at, uint32_t value) { // acquires and releases; returns what was there
  uint32_t old;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(value) : "memory");
  return old;
}
WEIR__R_FUNCTION uint64_t weir__r_add_long(uint64_t *at,
                                           uint64_t value) { // acquires and releases; returns what was there
  uint64_t old;
  asm volatile("atom.acq_rel.gpu.global.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(at), "l"(value) : "memory");
  return old;
}
WEIR__R_FUNCTION void weir__r_max_long(uint64_t *at, uint64_t value) { // orders nothing
  asm volatile("red.relaxed.gpu.global.max.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}
// The block's memory, among its threads; a pointer to any memory will do.
WEIR__R_FUNCTION uint32_t weir__r_block_load_acquire(const uint32_t *at) {
  uint32_t value;
  asm volatile("ld.acquire.cta.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
WEIR__R_FUNCTION uint64_t weir__r_block_load_long_acquire(const uint64_t *at) {
  uint64_t value;
  asm volatile("ld.acquire.cta.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
WEIR__R_FUNCTION void weir__r_block_store_release(uint32_t *at, uint32_t value) {
  asm volatile("st.release.cta.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
WEIR__R_FUNCTION void weir__r_block_store_long_release(uint64_t *at, uint64_t value) {
  asm volatile("st.release.cta.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}
// What the host asks for, all of it in one look over the bus.
WEIR__R_FUNCTION weir__r_signals weir__r_look(const weir__r_host *host) { // acquires
  weir__r_signals signals;
  asm volatile("ld.acquire.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(signals.tail), "=r"(signals.stop), "=r"(signals.ask), "=r"(signals.abort)
               : "l"(&host->tail)
               : "memory");
  return signals;
}
// A fault: all threads of the launch end, wherever they are. So does everything else in the context of the driver's.
WEIR__R_FUNCTION void weir__r_trap(void) {
  asm volatile("trap;");
}
WEIR__R_FUNCTION void weir__r_host_store_release(uint32_t *at, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
WEIR__R_FUNCTION void weir__r_host_store_done(uint64_t *at, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}
WEIR__R_FUNCTION weir__r_chunk weir__r_load_chunk(const weir__r_task *task, uint32_t chunk) { // of the host's ring
  weir__r_chunk value;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(value.low), "=l"(value.high)
               : "l"((const char *)task + 16 * chunk)
               : "memory");
  return value;
}
WEIR__R_FUNCTION uint64_t weir__r_now_ns(void) {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
WEIR__R_FUNCTION void weir__r_pause(void) {
  asm volatile("nanosleep.u32 32;");
}
// The threads that are one scheduler: a warp.
#define WEIR__R_LANES 32u
WEIR__R_FUNCTION uint32_t weir__r_lane(void) {
  return threadIdx.x % WEIR__R_LANES;
}
WEIR__R_FUNCTION void weir__r_meet(void) { // orders what lanes did before it and do behind it
  __syncwarp();
}
WEIR__R_FUNCTION uint32_t weir__r_from(uint32_t value, uint32_t lane) { // that lane's; orders nothing, as all of these
  return __shfl_sync(0xffffffffu, value, (int)lane);
}
WEIR__R_FUNCTION uint32_t weir__r_mask(uint32_t value) { // a bit for each lane whose value is not 0
  return __ballot_sync(0xffffffffu, (int)value);
}
WEIR__R_FUNCTION uint32_t weir__r_sum_before(uint32_t value,
                                             uint32_t *out_all) { // of the lanes before this one, and of all
  uint32_t sum = value;
#pragma unroll
  for (uint32_t step = 1; step < WEIR__R_LANES; step *= 2) {
    uint32_t before = __shfl_up_sync(0xffffffffu, sum, step);
    if (weir__r_lane() >= step) sum += before;
  }
  *out_all = __shfl_sync(0xffffffffu, sum, (int)WEIR__R_LANES - 1);
  return sum - value;
}
WEIR__R_FUNCTION uint32_t weir__r_count(uint32_t mask) {
  return (uint32_t)__popc((int)mask);
}
WEIR__R_FUNCTION uint32_t weir__r_lowest(uint32_t mask) { // its number; the mask is not 0
  return (uint32_t)__ffs((int)mask) - 1;
}
#define WEIR__R_UNROLL _Pragma("unroll")

#else // C threads

#include <sched.h>
#include <string.h>
#include <time.h>

#ifndef WEIR__R_POINT // a test's: what a thread does in front of each access to what is shared
#define WEIR__R_POINT() ((void)0)
#endif
#ifndef WEIR__R_TRAP // a test's: ends this thread, and all others of the launch at their next point
#define WEIR__R_TRAP() __builtin_trap()
#endif

WEIR__R_FUNCTION uint32_t weir__r_load(const uint32_t *at) {
  WEIR__R_POINT();
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}
WEIR__R_FUNCTION uint32_t weir__r_load_acquire(const uint32_t *at) {
  WEIR__R_POINT();
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}
WEIR__R_FUNCTION uint64_t weir__r_load_long(const uint64_t *at) {
  WEIR__R_POINT();
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}
WEIR__R_FUNCTION uint64_t weir__r_load_long_acquire(const uint64_t *at) {
  WEIR__R_POINT();
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}
WEIR__R_FUNCTION void weir__r_store_long(uint64_t *at, uint64_t value) {
  WEIR__R_POINT();
  __atomic_store_n(at, value, __ATOMIC_RELAXED);
}
WEIR__R_FUNCTION void weir__r_store_long_release(uint64_t *at, uint64_t value) {
  WEIR__R_POINT();
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
}
WEIR__R_FUNCTION void weir__r_store_release(uint32_t *at, uint32_t value) {
  WEIR__R_POINT();
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
}
WEIR__R_FUNCTION uint32_t weir__r_add_relaxed(uint32_t *at, uint32_t value) {
  WEIR__R_POINT();
  return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
WEIR__R_FUNCTION uint32_t weir__r_add(uint32_t *at, uint32_t value) {
  WEIR__R_POINT();
  return __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
}
WEIR__R_FUNCTION uint64_t weir__r_add_long(uint64_t *at, uint64_t value) {
  WEIR__R_POINT();
  return __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
}
WEIR__R_FUNCTION void weir__r_max_long(uint64_t *at, uint64_t value) {
  WEIR__R_POINT();
  uint64_t seen = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (seen < value && !__atomic_compare_exchange_n(at, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}
WEIR__R_FUNCTION uint32_t weir__r_block_load_acquire(const uint32_t *at) {
  return weir__r_load_acquire(at);
}
WEIR__R_FUNCTION uint64_t weir__r_block_load_long_acquire(const uint64_t *at) {
  return weir__r_load_long_acquire(at);
}
WEIR__R_FUNCTION void weir__r_block_store_release(uint32_t *at, uint32_t value) {
  weir__r_store_release(at, value);
}
WEIR__R_FUNCTION void weir__r_block_store_long_release(uint64_t *at, uint64_t value) {
  weir__r_store_long_release(at, value);
}
WEIR__R_FUNCTION uint32_t weir__r_host_load_acquire(const uint32_t *at) {
  WEIR__R_POINT();
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}
WEIR__R_FUNCTION weir__r_signals weir__r_look(const weir__r_host *host) {
  WEIR__R_POINT();
  weir__r_signals signals = {.tail = __atomic_load_n(&host->tail, __ATOMIC_ACQUIRE)};
  WEIR__R_POINT();
  signals.stop = __atomic_load_n(&host->stop, __ATOMIC_ACQUIRE);
  WEIR__R_POINT();
  signals.ask = __atomic_load_n(&host->ask, __ATOMIC_ACQUIRE);
  WEIR__R_POINT();
  signals.abort = __atomic_load_n(&host->abort, __ATOMIC_ACQUIRE);
  return signals;
}
WEIR__R_FUNCTION void weir__r_trap(void) {
  WEIR__R_TRAP();
}
WEIR__R_FUNCTION void weir__r_host_store_release(uint32_t *at, uint32_t value) {
  WEIR__R_POINT();
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
}
WEIR__R_FUNCTION void weir__r_host_store_done(uint64_t *at, uint64_t value) {
  WEIR__R_POINT();
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
}
WEIR__R_FUNCTION weir__r_chunk weir__r_load_chunk(const weir__r_task *task, uint32_t chunk) {
  WEIR__R_POINT();
  weir__r_chunk value;
  memcpy(&value, (const char *)task + 16 * chunk, 16);
  return value;
}
WEIR__R_FUNCTION uint64_t weir__r_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
WEIR__R_FUNCTION void weir__r_pause(void) {
  sched_yield();
}
#ifndef WEIR__R_LANES // one thread stands in for the warp, unless who includes this has lanes, and these functions, already
#define WEIR__R_LANES 1u
WEIR__R_FUNCTION uint32_t weir__r_lane(void) {
  return 0;
}
WEIR__R_FUNCTION void weir__r_meet(void) {}
WEIR__R_FUNCTION uint32_t weir__r_from(uint32_t value, uint32_t lane) {
  (void)lane;
  return value;
}
WEIR__R_FUNCTION uint32_t weir__r_mask(uint32_t value) {
  return value != 0;
}
WEIR__R_FUNCTION uint32_t weir__r_sum_before(uint32_t value, uint32_t *out_all) {
  *out_all = value;
  return 0;
}
#endif
WEIR__R_FUNCTION uint32_t weir__r_count(uint32_t mask) {
  return (uint32_t)__builtin_popcount(mask);
}
WEIR__R_FUNCTION uint32_t weir__r_lowest(uint32_t mask) {
  return (uint32_t)__builtin_ctz(mask);
}
#define WEIR__R_UNROLL

// The host: whether `count` tasks at least were reported as done since the context was made, and the number of the
// `count`th. Positions count from 1.
WEIR__R_FUNCTION bool weir__r_is_reported(const weir__r_host *host, uint32_t count, uint32_t *out_number) {
  WEIR__R_POINT();
  uint64_t entry = __atomic_load_n(&host->done[(count - 1) % WEIR__R_SLOTS], __ATOMIC_ACQUIRE);
  *out_number = (uint32_t)entry;
  return (uint32_t)(entry >> 32) == count;
}

// The host: makes the tasks up to this number known, which it has written to host->ring.
WEIR__R_FUNCTION void weir__r_publish(weir__r_host *host, uint32_t number) {
  WEIR__R_POINT();
  __atomic_store_n(&host->tail, number, __ATOMIC_RELEASE);
}

#endif

#endif // WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_MEMORY_H
