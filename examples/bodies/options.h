// SPDX-License-Identifier: Apache-2.0
#ifndef BODIES_OPTIONS_H
#define BODIES_OPTIONS_H

#include "simulation.h"

typedef struct bodies_options {
  simulation_options run;
  int rounds;          // of each way, to compare
  bool in_order;       // one task after the other
  bool check, compare; // compare results; times
  const char *picture; // file to write, or NULL
} bodies_options;

// Reads the command line. When there is nothing to run, after --help or an error that it prints, returns false with the
// exit code.
bool options_read(int argc, char **argv, bodies_options *out_options, int *out_exit_code);

#endif // BODIES_OPTIONS_H
