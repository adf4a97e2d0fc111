// SPDX-License-Identifier: Apache-2.0
//
// Which call fails next, where one call after the other fails. In small tests (WEIR_SMALL_TESTS, tests/CMakeLists.txt) only the
// first ones all fail, and then one of WEIR_SWEEP_STEP on average (twice or three times as many where this run does one part of
// several, part.h): others in each sweep, and with another WEIR_TEST_SEED.
#ifndef WEIR_TESTS_SWEEP_H
#define WEIR_TESTS_SWEEP_H

#include <stdint.h>
#include <stdlib.h>

#include "part.h"

enum { SWEEP_FIRST = 6 };

#ifdef WEIR_SMALL_TESTS
static inline uint64_t sweep_step(void) {
  return WEIR_SWEEP_STEP * ((uint64_t)(part_divisor() + 1) / 2);
}
#endif

static inline uint64_t sweep_after(uint64_t n) {
#ifdef WEIR_SMALL_TESTS
  static uint64_t state;
  if (n < SWEEP_FIRST) return n + 1;
  if (state == 0) {
    const char *seed = getenv("WEIR_TEST_SEED");
    state = seed != NULL ? strtoull(seed, NULL, 10) : 1;
  }
  state = state * 6364136223846793005u + 1442695040888963407u;
  return n + 1 + (state >> 33) % (2 * sweep_step() - 1);
#else
  return n + 1;
#endif
}

#endif // WEIR_TESTS_SWEEP_H
