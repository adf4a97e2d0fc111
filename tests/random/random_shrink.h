// SPDX-License-Identifier: Apache-2.0
//
// Makes a failing program smaller: drops operations for as long as the rest still fails.
#ifndef WEIR_TESTS_RANDOM_SHRINK_H
#define WEIR_TESTS_RANDOM_SHRINK_H

#include "random_options.h"

// Runs the program `repeats` times in a process of its own, `seconds` at most for each. True if all went well.
bool random_attempt(random_run *run, uint32_t repeats, unsigned seconds, bool quiet);

// Drops what it can from the run's program. Every candidate is run `repeats` times.
void random_shrink(random_run *run, uint32_t repeats);

#endif // WEIR_TESTS_RANDOM_SHRINK_H
