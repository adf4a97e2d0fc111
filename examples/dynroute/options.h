// SPDX-License-Identifier: Apache-2.0
#ifndef DYNROUTE_OPTIONS_H
#define DYNROUTE_OPTIONS_H

#include "network.h"

typedef struct dynroute_options {
  const char *devices;
  network_shape shape;
  int inputs;           // different images
  int passes;           // how often each is timed
  bool check;           // compare results
  weir_issue issue;     // of the run out of order
  const char *timeline; // file to write, or NULL
} dynroute_options;

// Reads the command line. When there is nothing to run, after --help or an error that it prints, returns false with the
// exit code.
bool options_read(int argc, char **argv, dynroute_options *out_options, int *out_exit_code);

#endif // DYNROUTE_OPTIONS_H
