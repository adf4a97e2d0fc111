// SPDX-License-Identifier: Apache-2.0
//
// How much of what a test repeats a run does. In small tests (WEIR_SMALL_TESTS, tests/CMakeLists.txt) that is one part of
// WEIR_TEST_PARTS, another one with another WEIR_TEST_SEED; with WEIR_TEST_WHOLE=1 in the environment, as in `make test-long`, or in
// tests that are not small, it is all.
#ifndef WEIR_TESTS_PART_H
#define WEIR_TESTS_PART_H

#include <stdint.h>
#include <stdlib.h>

// From `first` on, up to `end`, which is not part of it.
typedef struct test_part {
  uint32_t first, end;
} test_part;

static inline uint32_t part_divisor(void) {
#ifdef WEIR_SMALL_TESTS
  return getenv("WEIR_TEST_WHOLE") != NULL ? 1 : WEIR_TEST_PARTS;
#else
  return 1;
#endif
}

// Of so many things that are drawn anew in each run: how many to do, at least one.
static inline uint32_t part_count(uint32_t whole) {
  uint32_t count = whole / part_divisor();
  return count > 0 ? count : 1;
}

// The same within a run.
static inline uint32_t part_random(void) {
  const char *text = getenv("WEIR_TEST_SEED");
  uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 0;
  seed = (seed ^ seed >> 33) * 0xff51afd7ed558ccdu;
  seed = (seed ^ seed >> 33) * 0xc4ceb9fe1a85ec53u;
  return (uint32_t)(seed >> 33);
}

// Of things numbered from 0 to `whole` - 1, which are the same in each run: those to do. `whole` is not 0. Who asks
// `turn` by turn gets one part after the other.
static inline test_part part_next(uint32_t whole, uint32_t turn) {
  uint32_t count = part_count(whole), steps = (whole + count - 1) / count;
  uint32_t first = (part_random() % steps + turn) % steps * count;
  if (first + count > whole) first = whole - count;
  return (test_part){first, first + count};
}

static inline test_part part_of(uint32_t whole) {
  return part_next(whole, 0);
}

// Where to begin with every `stride`th: less than that, and in the end each with one WEIR_TEST_SEED or the other.
static inline uint32_t part_offset(uint32_t stride) {
  return part_random() % stride;
}

#endif // WEIR_TESTS_PART_H
