// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_BENCH_WINDOW_OPTIONS_H
#define WEIR_BENCH_WINDOW_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { WINDOW_MOST_ROUNDS = 101 };
enum { WINDOW_OK = 0, WINDOW_FAILED = 1, WINDOW_USAGE = 2 }; // exit codes

typedef struct window_options {
  const char *device, *json; // json: path, or NULL
  uint32_t rounds;
  bool quick;
  char **streams;
  int stream_count;
  int exit_code; // if window_options_parse is false
} window_options;

// Reads the command line. False: leave with exit_code; what is wrong, or the help, was printed.
bool window_options_parse(int argc, char **argv, window_options *out_options);

#endif // WEIR_BENCH_WINDOW_OPTIONS_H
