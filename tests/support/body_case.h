// SPDX-License-Identifier: Apache-2.0
//
// For tests of the kernels in program_bodies.c: launches with arguments of all kinds.
#ifndef WEIR_TESTS_BODY_CASE_H
#define WEIR_TESTS_BODY_CASE_H

#include "program_body.h"

// Runs a launch of body<arg_count>. `words` are the arguments behind the description, addresses and values.
typedef void (*body_case_run)(uint32_t arg_count, const body_packed *packed, const uint64_t *words,
                              const uint32_t groups[3]);

// Makes a random launch, and says whether `run` gives, to the byte, what body_run gives.
bool body_case_same(uint64_t seed, uint32_t arg_count, body_case_run run);

#endif // WEIR_TESTS_BODY_CASE_H
