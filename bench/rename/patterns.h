// SPDX-License-Identifier: Apache-2.0
//
// Programs that use a few buffers again and again, by host tasks that read and write all of their bytes.
#ifndef WEIR_BENCH_RENAME_PATTERNS_H
#define WEIR_BENCH_RENAME_PATTERNS_H

#include <stdint.h>

#include "weir/weir.h"

enum { PATTERN_MAX_BUFFERS = 16 };

typedef struct pattern {
  const char *name;
  uint32_t buffers;
  uint32_t parts; // of the bytes that a step is about: a buffer has so much
  // Submits step number `step`. Elements of each buffer: `count`.
  weir_status (*submit)(weir_context *context, weir_buffer **buffers, uint64_t count, uint32_t step);
} pattern;

extern const pattern patterns[];
extern const uint32_t pattern_count;

#endif // WEIR_BENCH_RENAME_PATTERNS_H
