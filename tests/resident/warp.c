// SPDX-License-Identifier: Apache-2.0
#include "warp.h"

#include <pthread.h>
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

void point_end_if_faulted(void) {
  if (point_self.faulted != NULL && __atomic_load_n(point_self.faulted, __ATOMIC_ACQUIRE)) pthread_exit(NULL);
}

static void end_or_yield(yield_point *point) {
  point_end_if_faulted();
  if (point->yields_of_1000 > 0) yield_now_and_then(point);
}

void point_yields_on_card(uint64_t seed, uint32_t yields_of_1000, bool *faulted) {
  point_self = (yield_point){.random = seed, .yields_of_1000 = yields_of_1000, .faulted = faulted};
  if (faulted != NULL)
    point_self.reach = end_or_yield;
  else if (yields_of_1000 > 0)
    point_self.reach = yield_now_and_then;
}

void point_yields(uint64_t seed, uint32_t yields_of_1000) {
  point_yields_on_card(seed, yields_of_1000, NULL);
}

void point_fault(void) {
  __atomic_store_n(point_self.faulted, true, __ATOMIC_RELEASE);
  pthread_exit(NULL);
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
  while (__atomic_load_n(&warp->round, __ATOMIC_ACQUIRE) == round) {
    point_end_if_faulted();
    sched_yield();
  }
}

// Nothing but words by themselves, all relaxed. Who is in a pass has read the words of the one before, so two of each are enough.
void warp_pass(uint32_t value, uint32_t all[RESIDENT_LANES]) {
  thread_warp *warp = lane_self.warp;
  uint32_t pass = ++warp->passes[lane_self.index];
  uint64_t *passed = warp->passed[pass % 2];
  __atomic_store_n(&passed[lane_self.index], (uint64_t)pass << 32 | value, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < RESIDENT_LANES; i++) {
    uint64_t word;
    while ((word = __atomic_load_n(&passed[i], __ATOMIC_RELAXED)) >> 32 != pass) {
      point_end_if_faulted();
      sched_yield();
    }
    all[i] = (uint32_t)word;
  }
}

#endif
