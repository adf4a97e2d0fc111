// SPDX-License-Identifier: Apache-2.0
//
// Frames through two kernels in real time: on one device, as a chain of stages on two, and split over two.
#ifndef BENCH_SPLIT_STAGES_H
#define BENCH_SPLIT_STAGES_H

enum { STAGES_CASES = 2, STAGES_WAYS = 5 };

// Medians of milliseconds for a frame, by case and way.
typedef struct stages_table {
  const char *cases[STAGES_CASES];
  const char *ways[STAGES_WAYS];
  double ms[STAGES_CASES][STAGES_WAYS];
} stages_table;

// Returns 0, with a message on stderr, if something failed or a result was wrong.
int measure_stages(stages_table *out);

#endif // BENCH_SPLIT_STAGES_H
