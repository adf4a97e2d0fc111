// SPDX-License-Identifier: Apache-2.0
//
// What weir-bench-pipeline is asked to do.
#ifndef WEIR_BENCH_PIPELINE_SETTINGS_H
#define WEIR_BENCH_PIPELINE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum { BENCH_MOST_ROUNDS = 101, BENCH_MOST_NAMES = 24, BENCH_STAGE_ROWS = 6, BENCH_SIZES = 3 };
enum { BENCH_OK = 0, BENCH_FAILED = 1, BENCH_USAGE = 2, BENCH_UNAVAILABLE = 3 }; // exit codes

// Names that an option was given; none: all.
typedef struct bench_names {
  const char *names[BENCH_MOST_NAMES];
  uint32_t count;
} bench_names;

typedef struct bench_settings {
  bench_names parts, workloads, sizes, ways;
  const char *device;
  const char *json; // path, or NULL
  uint64_t tokens;  // 0: by part and size
  uint32_t lines, workers, rounds;
  uint32_t row;  // of the part "stages", from 1; 0: all
  double load;   // of the part "latency": of the best way's rate, or
  double rate;   // jobs per second, if not 0
  bool samples;  // print each measurement as a line of JSON instead of tables
  bool quick;    // small numbers, to see that all works
  int exit_code; // if bench_settings_parse is false
} bench_settings;

// Reads the command line. false: leave with exit_code; what is wrong, or the help, was printed.
bool bench_settings_parse(int argc, char **argv, bench_settings *out_settings);

bool bench_chosen(const bench_names *names, const char *name);

// About the sizes of jobs: "10us", and the time of kernels that it means.
extern const char *const bench_size_names[BENCH_SIZES];
extern const uint64_t bench_size_ns[BENCH_SIZES];

// Tokens of a round of jobs of that size.
uint64_t bench_tokens(const bench_settings *settings, uint32_t size);

// "cpu" of "cpu:2"; `out_kind` has room for 16 bytes.
void bench_kind(const bench_settings *settings, char *out_kind);

#endif // WEIR_BENCH_PIPELINE_SETTINGS_H
