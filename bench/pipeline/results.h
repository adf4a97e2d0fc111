// SPDX-License-Identifier: Apache-2.0
//
// Results of weir-bench-pipeline: medians of measurements, lines of JSON for `weir bench`, and a file of all.
#ifndef WEIR_BENCH_PIPELINE_RESULTS_H
#define WEIR_BENCH_PIPELINE_RESULTS_H

#include "settings.h"

typedef struct bench_spread {
  double median, least, most;
} bench_spread;

// Of `count` values, at least 1, which are left as they are; BENCH_MOST_ROUNDS at most.
bench_spread bench_spread_of(const double *values, uint32_t count);

// Sorts values; the one at a fraction of them: 0.5 is the median, 0.99 the 99th percentile.
double bench_percentile(double *values, uint64_t count, double fraction);

// Keeps a result for the file, and prints its measurements if that was asked for. `case_name`: "sobel 10us".
void bench_add(const bench_settings *settings, const char *part, const char *case_name, const char *way,
               const char *unit, const double *values, uint32_t count);

// Notes, once, a way that did not run; with --samples, as a line of JSON.
void bench_add_missing(const bench_settings *settings, const char *way, const char *why);

// Prints the ways that did not run since the last call.
void bench_print_missing(void);

// Writes what was kept to settings->json, if that was asked for. Returns an exit code.
int bench_write(const bench_settings *settings);

// Prints, unless --samples was given.
__attribute__((format(printf, 2, 3))) void bench_print(const bench_settings *settings, const char *format, ...);

#endif // WEIR_BENCH_PIPELINE_RESULTS_H
