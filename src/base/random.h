// SPDX-License-Identifier: Apache-2.0
//
// A small pseudo-random generator: xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators,
// scrambled", 2016). Not for secrets.
#ifndef WEIR_BASE_RANDOM_H
#define WEIR_BASE_RANDOM_H

#include <stdint.h>

typedef struct weir__random {
  uint64_t state; // 0 is not allowed
} weir__random;

static inline uint32_t weir__random_next(weir__random *random) {
  uint64_t x = random->state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  random->state = x;
  return (uint32_t)(x * 0x2545f4914f6cdd1dull >> 32);
}

#endif // WEIR_BASE_RANDOM_H
