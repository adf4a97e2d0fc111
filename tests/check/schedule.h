// SPDX-License-Identifier: Apache-2.0
//
// Streams and timelines made for tests of the checker: a little scheduler of its own, which shares no code with Weir's.
#ifndef WEIR_TESTS_CHECK_SCHEDULE_H
#define WEIR_TESTS_CHECK_SCHEDULE_H

#include "check/check.h"

// Random numbers: the same for the same seed everywhere. At least `low`, below `high`.
uint64_t random_next(uint64_t *seed);
uint64_t random_in(uint64_t *seed, uint64_t low, uint64_t high);

// The seed of a test: WEIR_TEST_SEED, else `fallback`; printed.
uint64_t random_seed(uint64_t fallback);

typedef struct stream_shape {
  uint32_t tasks, buffers; // buffers alive at a time
  uint64_t most_bytes;     // of a buffer
  bool host_waits, commutes;
} stream_shape;

// A random stream, read from text that is made up; never NULL (the test fails instead).
weir__stream *random_stream(const stream_shape *shape, uint64_t seed);

// A stream from text.
weir__stream *stream_from(const char *text);

typedef struct schedule_options {
  uint32_t passes, workers;
  bool by_address; // one storage for everything
  bool rename;     // a buffer that is overwritten as a whole gets another storage
  bool kept;       // buffers live on from pass to pass
  uint64_t seed;   // of run times
} schedule_options;

// A correct timeline of the stream. weir__timeline_destroy frees it.
weir__timeline *schedule(const weir__stream *stream, const schedule_options *options);

// The timeline as JSON text; free() it.
char *timeline_text(const weir__timeline *timeline);

// Writes the timeline as JSON, reads it again and checks that.
weir__check_result check_as_json(const weir__timeline *timeline, const weir__stream *stream,
                                 const weir__check_options *options, weir__check_report *out_report);

#endif // WEIR_TESTS_CHECK_SCHEDULE_H
