// SPDX-License-Identifier: Apache-2.0
//
// Junk: bytes that stand where a task must not look. It comes in two variants that differ in every byte. The first one is
// NaN, as float and as double; the second one has large numbers of both signs.
#ifndef WEIR_CHECK_JUNK_H
#define WEIR_CHECK_JUNK_H

#include <stdbool.h>
#include <stdint.h>

enum { WEIR__JUNK_BYTES = 1 << 16 };

typedef struct weir__junk {
  unsigned char bytes[2][WEIR__JUNK_BYTES]; // by variant; it repeats
  uint64_t shift;                           // where it begins, a multiple of 8; another one for each task
} weir__junk;

void weir__junk_initialize(weir__junk *junk);

// Fills memory that is `at` bytes behind the place where the junk begins.
void weir__junk_fill(const weir__junk *junk, uint32_t variant, uint64_t at, void *memory, uint64_t bytes);

static inline unsigned char weir__junk_byte(const weir__junk *junk, uint32_t variant, uint64_t at) {
  return junk->bytes[variant][(at + junk->shift) % WEIR__JUNK_BYTES];
}

// A range of bytes; empty: none were found.
typedef struct weir__range {
  uint64_t lo, hi;
} weir__range;

// From the first to the last byte that differ, as distances from the beginning.
weir__range weir__junk_changed(const weir__junk *junk, uint32_t variant, uint64_t at, const void *memory,
                               uint64_t bytes);
weir__range weir__bytes_changed(const void *memory, const void *expected, uint64_t bytes);

#endif // WEIR_CHECK_JUNK_H
