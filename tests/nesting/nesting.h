// SPDX-License-Identifier: Apache-2.0
//
// What the tests of nesting share.
#ifndef WEIR_TESTS_NESTING_H
#define WEIR_TESTS_NESTING_H

// cmocka.h needs these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "gate.h"
#include "weir/group.h"

// A context with a window of 8.
static inline weir_context *nesting_context(const char *devices, uint32_t flags) {
  weir_context *context;
  const char *seed = getenv("WEIR_TEST_SEED");
  weir_context_options options = {
      .devices = devices, .window = 8, .flags = flags, .seed = seed != NULL ? strtoull(seed, NULL, 10) : 0};
  assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
  return context;
}

static inline weir_status nesting_submit(weir_context *context, weir_function function, void *user,
                                         weir_event **out_event) {
  return weir_submit(context, &(weir_task){.host = function, .user = user}, out_event);
}

// Adds 1 to the atomic_uint that is its `user`.
static inline void nesting_count(const weir_work *work) {
  atomic_fetch_add((atomic_uint *)work->user, 1);
}

#endif // WEIR_TESTS_NESTING_H
