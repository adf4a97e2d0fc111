// SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks of `weir bench` share: their options, and the report to which they add results.
#ifndef WEIR_TOOLS_WEIR_BENCH_H
#define WEIR_TOOLS_WEIR_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weir__bench_options {
  uint32_t runs;      // measurements per result; at least 1
  bool quick;         // a smoke test: small counts, so that the whole benchmark takes a few seconds at most
  bool named;         // the user asked for this benchmark, so that what it lacks is an error
  const char *device; // for those that take one; NULL: the default of each
} weir__bench_options;

typedef struct weir__bench_report weir__bench_report;

// A benchmark: adds its results to the report and returns an exit code (WEIR__EXIT_*). What it cannot run it says with
// weir__bench_note, by name and reason, and goes on; mistakes of results (a wrong sum, a broken order) are failures.
int weir__bench_submit(const weir__bench_options *options, weir__bench_report *report);
int weir__bench_forms(const weir__bench_options *options, weir__bench_report *report);
int weir__bench_ranges(const weir__bench_options *options, weir__bench_report *report);
int weir__bench_overhead(const weir__bench_options *options, weir__bench_report *report);
int weir__bench_metg(const weir__bench_options *options, weir__bench_report *report);
int weir__bench_wait(const weir__bench_options *options, weir__bench_report *report);
int weir__bench_parallelism(const weir__bench_options *options, weir__bench_report *report);
int weir__bench_tasks(const weir__bench_options *options, weir__bench_report *report);
int weir__bench_copies(const weir__bench_options *options, weir__bench_report *report);
int weir__bench_sequences(const weir__bench_options *options, weir__bench_report *report);
int weir__bench_barriers(const weir__bench_options *options, weir__bench_report *report);
int weir__bench_pipeline(const weir__bench_options *options, weir__bench_report *report);

// Adds one result: `count` measurements (at least 1) of `case_name` for `runtime` ("weir", "oneTBB", "by address") in
// `unit` ("ns/task", "us", "x", "GB/s"). All strings and numbers are copied. The report keeps median, minimum, maximum
// and count. Rows of one benchmark and case whose runtime starts with "weir" are compared with the others in the table.
void weir__bench_add(weir__bench_report *report, const char *bench, const char *case_name, const char *runtime,
                     const char *unit, const double *samples, size_t count);

// Says under the table (with --json: on stderr) what is missing or needs to be known, a line each.
__attribute__((format(printf, 2, 3))) void weir__bench_note(weir__bench_report *report, const char *format, ...);

// Shows on stderr, if that is a terminal, what is running now.
__attribute__((format(printf, 1, 2))) void weir__bench_progress(const char *format, ...);

#endif // WEIR_TOOLS_WEIR_BENCH_H
