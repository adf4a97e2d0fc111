// SPDX-License-Identifier: Apache-2.0
//
// Samples of all kinds, with the device's times on the host's clock.
#ifndef WEIR_BENCH_WAIT_MEASURE_H
#define WEIR_BENCH_WAIT_MEASURE_H

#include "clocks.h"
#include "options.h"
#include "ways.h"

// Samples of one way, shape and sight, in us.
typedef struct wait_column {
  double *from_write;   // of those where the host waited already
  double *from_submit;  // of all
  uint32_t waited, all; // so many
  // In so many the last write was before the submission, or after it was seen, by more than the clocks may be off.
  uint32_t contradicted;
} wait_column;

enum { WAIT_COLUMNS = WAIT_WAYS * WAIT_SHAPES * WAIT_SIGHTS };

typedef struct wait_measures {
  wait_column columns[WAIT_COLUMNS]; // see wait_column_of
  double resident[WAIT_WAYS];        // the share of tasks that a resident kernel ran
  // Of the clocks, over all relations: rounds of questions, how far a last write may be off, and how much one clock
  // gained on the other during the samples of a column.
  uint64_t least_round_ns, most_round_ns, most_error_ns, most_drift_ns;
} wait_measures;

// The samples of a way, shape and sight; none where a way has no such sight.
static inline wait_column *wait_column_of(wait_measures *measures, int way, int shape, int sight) {
  return &measures->columns[(way * WAIT_SHAPES + shape) * WAIT_SIGHTS + sight];
}

typedef struct wait_bench {
  const wait_options *options;
  nvrtc_card card;
  bool has_card; // else the device is the CPU, and there are no peers
  wait_clocks clocks;
  wait_weir *weir[WAIT_WAYS];
  wait_cuda *cuda[WAIT_WAYS];
  uint64_t salt;
  char no_card[1024]; // why there is none
} wait_bench;

// Opens the device in all ways. The exit code; if it is not WAIT_OK a message was printed. To be closed in any case.
int wait_bench_open(const wait_options *options, wait_bench *out_bench);
void wait_bench_close(wait_bench *bench);

// Whether a way is measured like that.
bool wait_bench_has(const wait_bench *bench, int way, wait_sight sight);

// All rounds, ways in turns. False: a call failed or a result is wrong; a message was printed. To be freed in any case.
bool wait_measure(wait_bench *bench, wait_measures *out_measures);
void wait_measures_free(wait_measures *measures);

#endif // WEIR_BENCH_WAIT_MEASURE_H
