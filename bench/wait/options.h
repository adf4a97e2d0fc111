// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_BENCH_WAIT_OPTIONS_H
#define WEIR_BENCH_WAIT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { WAIT_MOST_ROUNDS = 100 };
enum { WAIT_OK = 0, WAIT_FAILED = 1, WAIT_USAGE = 2, WAIT_UNAVAILABLE = 3 }; // exit codes

typedef struct wait_options {
  const char *device, *json; // json: path, or NULL
  uint32_t us;               // that a task takes
  uint32_t rounds, samples;  // samples: of each column in a round
  uint32_t warm_up;          // runs before them
  uint32_t questions;        // for what the device's clock shows, before and behind
  int exit_code;             // if wait_options_parse is false
} wait_options;

// Reads the command line. False: leave with exit_code; what is wrong, or the help, was printed.
bool wait_options_parse(int argc, char **argv, wait_options *out_options);

#endif // WEIR_BENCH_WAIT_OPTIONS_H
