// SPDX-License-Identifier: Apache-2.0
//
// A case: jobs of one workload and size, with all ways that can run them open, each verified.
#ifndef WEIR_BENCH_PIPELINE_CASE_H
#define WEIR_BENCH_PIPELINE_CASE_H

#include "data.h"
#include "settings.h"

enum { BENCH_MOST_WAYS = 8 };

typedef struct bench_entry {
  const job_way *way;
  void *state;
  bool is_weirs;
  double samples[BENCH_MOST_ROUNDS]; // jobs per second, by round
  double host_us[BENCH_MOST_ROUNDS]; // CPU time of the process per job
} bench_entry;

typedef struct bench_case {
  char name[64]; // "sobel 10us"
  uint32_t workload, size;
  job_data data;
  // Time of a job's kernels, and of its copies, each alone and one after the other, in ns; NAN if it could not be measured. On the
  // CPU: on one worker.
  double kernels_ns, copies_ns;
  uint32_t lanes; // of the device
  uint32_t entry_count;
  bench_entry entries[BENCH_MOST_WAYS];
} bench_case;

// Calls `function` with every chosen case, one after the other. Returns an exit code: the function's first that is not 0, or what was
// printed as wrong: a result, by workload, size, way and token.
int bench_each_case(const bench_settings *settings, int (*function)(const bench_settings *, bench_case *, void *),
                    void *user);

// Runs `tokens` jobs. Returns an exit code, with what failed printed.
int bench_run(const bench_case *c, const bench_entry *entry, uint64_t tokens, const job_feed *feed);

#endif // WEIR_BENCH_PIPELINE_CASE_H
