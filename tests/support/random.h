// SPDX-License-Identifier: Apache-2.0
//
// Random numbers for tests: the same sequence from the same seed on every machine (splitmix64).
#ifndef WEIR_TESTS_RANDOM_H
#define WEIR_TESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct random_state {
  uint64_t value;
} random_state;

static inline uint64_t random_mix(uint64_t x) {
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

static inline uint64_t random_next(random_state *random) {
  random->value += UINT64_C(0x9e3779b97f4a7c15);
  return random_mix(random->value);
}

// A number in [0, bound); bound is at least 1.
static inline uint32_t random_below(random_state *random, uint32_t bound) {
  return (uint32_t)(random_next(random) % bound);
}

// A number in [low, high].
static inline uint32_t random_between(random_state *random, uint32_t low, uint32_t high) {
  return low + random_below(random, high - low + 1);
}

static inline bool random_chance(random_state *random, uint32_t percent) {
  return random_below(random, 100) < percent;
}

#endif // WEIR_TESTS_RANDOM_H
