// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_BENCH_SPLIT_OVERHEAD_H
#define WEIR_BENCH_SPLIT_OVERHEAD_H

#include <stdbool.h>

// Of two plain launches, one for each of two CPU workers, and of one split launch of the same work: the median, and the time that
// a tenth of all stay below. Microseconds.
typedef struct overhead_pair {
  double plain, split, plain_low, split_low;
} overhead_pair;

typedef struct overhead {
  overhead_pair host;  // of the submitting calls, empty work
  overhead_pair empty; // from submission to the end, empty work
  overhead_pair work;  // the same, each half of the work takes 1 ms
} overhead;

// `resident`: the split's contents stay where they are. `core`: of the workers' cores (0 or 1) the one that the submitter is bound
// to; -1: the system chooses, and stays with what it chose for long, so that one run says little about the next. 0: something
// failed, and stderr says what.
int measure_overhead(bool resident, int core, overhead *out_overhead);

#endif // WEIR_BENCH_SPLIT_OVERHEAD_H
