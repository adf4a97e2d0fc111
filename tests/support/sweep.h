// SPDX-License-Identifier: Apache-2.0
//
// Which call fails next, where one call after the other fails. In small tests (WEIR_SMALL_TESTS, tests/CMakeLists.txt) only the
// first ones all fail, and then one of SWEEP_STEP on average: others in each sweep, and with another WEIR_TEST_SEED.
#ifndef WEIR_TESTS_SWEEP_H
#define WEIR_TESTS_SWEEP_H

#include <stdint.h>
#include <stdlib.h>

// The thread sanitizer makes each call ten times as long and finds the same in few of them.
#ifdef __SANITIZE_THREAD__
enum { SWEEP_FIRST = 4, SWEEP_STEP = 32 };
#else
enum { SWEEP_FIRST = 6, SWEEP_STEP = 8 };
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
  return n + 1 + (state >> 33) % (2 * SWEEP_STEP - 1);
#else
  return n + 1;
#endif
}

#endif // WEIR_TESTS_SWEEP_H
