// SPDX-License-Identifier: Apache-2.0
//
// Everything about one random run, made from a seed and the kind of device.
#ifndef WEIR_TESTS_RANDOM_OPTIONS_H
#define WEIR_TESTS_RANDOM_OPTIONS_H

#include "program_run.h"

typedef struct random_run {
  test_program program;
  program_options options;
} random_run;

// `device`: "cpu:N" or "sim".
void random_run_make(random_run *out_run, uint64_t seed, const char *device);
void random_run_print(const random_run *run, FILE *file);

#endif // WEIR_TESTS_RANDOM_OPTIONS_H
