// SPDX-License-Identifier: Apache-2.0
//
// What protocol.h is compiled with in these tests: points at which threads yield, and, where RESIDENT_LANES is more than 1,
// a warp of threads for the scheduler. Include this in place of protocol.h.
#ifndef WEIR_TESTS_RESIDENT_WARP_H
#define WEIR_TESTS_RESIDENT_WARP_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef RESIDENT_LANES
#define RESIDENT_LANES 1
#endif

// Called in front of each access to what is shared; what it does is this thread's affair.
typedef struct yield_point {
  void (*reach)(struct yield_point *point); // NULL: nothing
  bool *faulted;                            // atomic; of the card that the thread is part of; NULL: of none
  uint64_t random;
  uint32_t yields_of_1000;
  uint32_t reached;
} yield_point;
extern _Thread_local yield_point point_self;

#define WEIR__R_POINT()                                                                                                \
  do {                                                                                                                 \
    if (point_self.reach != NULL) point_self.reach(&point_self);                                                       \
  } while (0)
#define WEIR__R_TRAP() point_fault()

// The card that this thread is part of faults: it ends, and all others of the card at their next point.
void point_fault(void);
void point_end_if_faulted(void);

// The points of this thread yield now and then, as follows from a seed; `yields_of_1000` 0: never.
void point_yields(uint64_t seed, uint32_t yields_of_1000);
// The same for a thread of a card.
void point_yields_on_card(uint64_t seed, uint32_t yields_of_1000, bool *faulted);

#if RESIDENT_LANES > 1
// Threads that pass values without any order between them, as the lanes of a warp do, and that order memory when they meet.
typedef struct thread_warp {
  uint32_t met, round;                // threads that wait, and meetings that were
  uint64_t passed[2][RESIDENT_LANES]; // number of the pass * 2^32 + value, of the last two passes
  uint32_t passes[RESIDENT_LANES];    // each lane's own count
} thread_warp;
typedef struct warp_lane {
  thread_warp *warp;
  uint32_t index;
} warp_lane;
extern _Thread_local warp_lane lane_self;

#define WEIR__R_LANES ((uint32_t)RESIDENT_LANES)
static inline __attribute__((unused)) uint32_t weir__r_lane(void) {
  return lane_self.index;
}
void warp_meet(void);
static inline __attribute__((unused)) void weir__r_meet(void) {
  warp_meet();
}
// The values of all lanes.
void warp_pass(uint32_t value, uint32_t all[RESIDENT_LANES]);
static inline __attribute__((unused)) uint32_t weir__r_from(uint32_t value, uint32_t lane) {
  uint32_t all[RESIDENT_LANES];
  warp_pass(value, all);
  return all[lane];
}
static inline __attribute__((unused)) uint32_t weir__r_mask(uint32_t value) {
  uint32_t all[RESIDENT_LANES], mask = 0;
  warp_pass(value, all);
  for (uint32_t i = 0; i < RESIDENT_LANES; i++) mask |= (uint32_t)(all[i] != 0) << i;
  return mask;
}
static inline __attribute__((unused)) uint32_t weir__r_sum_before(uint32_t value, uint32_t *out_all) {
  uint32_t all[RESIDENT_LANES], before = 0;
  warp_pass(value, all);
  *out_all = 0;
  for (uint32_t i = 0; i < RESIDENT_LANES; i++) {
    if (i == lane_self.index) before = *out_all;
    *out_all += all[i];
  }
  return before;
}
#endif

#include "device/cuda/resident/protocol.h"

#endif // WEIR_TESTS_RESIDENT_WARP_H
