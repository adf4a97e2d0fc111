// SPDX-License-Identifier: Apache-2.0
//
// Programs whose tasks add to the same buffers.
#ifndef WEIR_BENCH_REDUCE_PATTERNS_H
#define WEIR_BENCH_REDUCE_PATTERNS_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/reduce.h"

// Makes the argument by which a task adds numbers of a type to `bytes` bytes of a buffer from byte `offset` on.
typedef weir_arg (*add_argument)(weir_buffer *buffer, uint64_t offset, uint64_t bytes, weir_reduce_type type);

typedef struct pattern {
  const char *name;
  // Submits all, waits for it, and says whether the result is that of serial execution. Times are the device's, in nanoseconds, of
  // the tasks alone. False: weir_last_error() says why, or `*out_right` is false.
  bool (*run)(weir_context *context, add_argument adds, uint64_t *out_ns, bool *out_right);
} pattern;

extern const pattern patterns[];
extern const uint32_t pattern_count;

#endif // WEIR_BENCH_REDUCE_PATTERNS_H
