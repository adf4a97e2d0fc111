// SPDX-License-Identifier: Apache-2.0
#include "warp.h"

#include <unistd.h>

#include "random.h"

_Thread_local yield_point point_self;

static void yield_now_and_then(yield_point *point) {
  random_state random = {point->random};
  uint32_t drawn = random_below(&random, 100000);
  point->random = random.value;
  if (drawn < 20) {
    usleep(50);
  } else if (drawn < point->yields_of_1000 * 100) {
    sched_yield();
  }
}

void point_yields(uint64_t seed, uint32_t yields_of_1000) {
  point_self = (yield_point){.random = seed, .yields_of_1000 = yields_of_1000};
  if (yields_of_1000 > 0) point_self.reach = yield_now_and_then;
}

#if RESIDENT_LANES > 1

_Thread_local warp_lane lane_self;

void warp_meet(void) {
  thread_warp *warp = lane_self.warp;
  uint32_t round = __atomic_load_n(&warp->round, __ATOMIC_RELAXED);
  if (__atomic_fetch_add(&warp->met, 1, __ATOMIC_ACQ_REL) == RESIDENT_LANES - 1) {
    __atomic_store_n(&warp->met, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&warp->round, round + 1, __ATOMIC_RELEASE);
    return;
  }
  while (__atomic_load_n(&warp->round, __ATOMIC_ACQUIRE) == round) sched_yield();
}

// Each lane has a word with the value and the number of the pass: nothing but words by themselves, all relaxed.
uint32_t warp_from_first(uint32_t value) {
  thread_warp *warp = lane_self.warp;
  uint32_t pass = ++warp->passes[lane_self.index];
  for (uint32_t i = 1; lane_self.index == 0 && i < RESIDENT_LANES; i++) {
    while (__atomic_load_n(&warp->seen[i], __ATOMIC_RELAXED) != pass - 1) sched_yield();
    __atomic_store_n(&warp->passed[i], (uint64_t)pass << 32 | value, __ATOMIC_RELAXED);
  }
  if (lane_self.index == 0) return value;
  uint64_t word;
  while ((word = __atomic_load_n(&warp->passed[lane_self.index], __ATOMIC_RELAXED)) >> 32 != pass) sched_yield();
  __atomic_store_n(&warp->seen[lane_self.index], pass, __ATOMIC_RELAXED);
  return (uint32_t)word;
}

uint32_t warp_all(uint32_t value) {
  thread_warp *warp = lane_self.warp;
  uint32_t pass = warp->passes[lane_self.index] + 1;
  __atomic_store_n(&warp->gathered[lane_self.index], (uint64_t)pass << 32 | (value != 0), __ATOMIC_RELAXED);
  uint32_t all = 1;
  for (uint32_t i = 0; lane_self.index == 0 && i < RESIDENT_LANES; i++) {
    uint64_t word;
    while ((word = __atomic_load_n(&warp->gathered[i], __ATOMIC_RELAXED)) >> 32 != pass) sched_yield();
    all &= (uint32_t)word;
  }
  return warp_from_first(all);
}

#endif
