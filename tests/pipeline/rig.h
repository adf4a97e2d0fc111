// SPDX-License-Identifier: Apache-2.0
//
// What the tests of pipelines share. Stages run in threads of their own, where cmocka must not be called: they note problems,
// which the test's thread then finds.
#ifndef TESTS_PIPELINE_RIG_H
#define TESTS_PIPELINE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/pipeline.h"

void rig_ok(weir_status status);
weir_context *rig_context(const char *devices, uint64_t seed);
weir_context *rig_tracing_context(const char *devices, uint64_t seed);
weir_pipeline *rig_pipeline(weir_context *context, const weir_pipeline_options *options);

// Notes a problem unless `good`, from any thread; and fails the test if there was one.
#define rig_check(good) rig_note((good), __FILE__, __LINE__, #good)
void rig_note(bool good, const char *file, int line, const char *text);
void rig_no_problems(void);

// A seed of its own for each test program, which WEIR_TEST_SEED sets.
uint64_t rig_seed(void);

#endif // TESTS_PIPELINE_RIG_H
