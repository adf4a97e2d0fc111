// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_BENCH_SPLIT_OVERHEAD_H
#define WEIR_BENCH_SPLIT_OVERHEAD_H

// What a launch over two CPU workers costs beside two plain launches, one for each, of halves of the same work. Microseconds.
typedef struct overhead {
  double plain_host_us, split_host_us;   // of the submitting thread, empty work: median of a call (of both calls)
  double plain_empty_us, split_empty_us; // submission to end, empty work: median
  double plain_us, split_us;             // submission to end, work of about 1 ms: median
} overhead;

// False: something failed, and stderr says what.
int measure_overhead(overhead *out_overhead);

#endif // WEIR_BENCH_SPLIT_OVERHEAD_H
