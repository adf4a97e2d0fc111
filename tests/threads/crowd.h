// SPDX-License-Identifier: Apache-2.0
//
// A crowd: threads that start together and run one function, each with its number.
#ifndef WEIR_TESTS_CROWD_H
#define WEIR_TESTS_CROWD_H

#include "weir/weir.h"

enum { CROWD = 8 };

typedef void (*crowd_function)(void *user, uint32_t number);

// Runs the function in CROWD threads at once and waits for all of them.
void crowd_run(crowd_function function, void *user);

// The contexts that the tests are run with: 1, 2 and 5 workers, with and without disturbed scheduling; then those with a
// simulated device, of which the first has no CPU.
enum { CROWD_CONTEXTS = 6, CROWD_SIMULATED = 3 };
weir_context *crowd_context(uint32_t number, uint32_t window, uint64_t memory_limit);

#endif // WEIR_TESTS_CROWD_H
