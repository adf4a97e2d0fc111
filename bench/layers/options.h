// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_BENCH_LAYERS_OPTIONS_H
#define WEIR_BENCH_LAYERS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "modes.h"

enum { LAYER_MOST_VALUES = 8, LAYER_MOST_ROUNDS = 101 };
enum { LAYER_OK = 0, LAYER_FAILED = 1, LAYER_USAGE = 2, LAYER_UNAVAILABLE = 3 }; // exit codes

typedef struct layer_list {
  uint32_t values[LAYER_MOST_VALUES], count;
} layer_list;

typedef struct layer_options {
  const char *device, *json; // json: path, or NULL
  uint32_t tasks, rounds;
  layer_list widths, times; // times: of a task, in us
  bool modes[LAYER_MODES];
  int exit_code; // if layer_options_parse is false
} layer_options;

// Reads the command line. false: leave with exit_code; what is wrong, or the help, was printed.
bool layer_options_parse(int argc, char **argv, layer_options *out_options);

#endif // WEIR_BENCH_LAYERS_OPTIONS_H
