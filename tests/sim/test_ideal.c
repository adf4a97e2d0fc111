// SPDX-License-Identifier: Apache-2.0
//
// The profile ideal against the limit that dependences and work leave.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "replay.h"

static const char *const names[] = {"squeezenet",   "condconv_b0",  "inception_v3", "hrnet_w18",   "randwire",
                                    "nasnetalarge", "dynroute_a.0", "dynroute_a.1", "dynroute_a.2"};

static void makespans_are_near_the_limit(void **state) {
  (void)state;
  double sum = 0, largest = 0;
  size_t count = sizeof names / sizeof names[0];
  for (size_t i = 0; i < count; i++) {
    weir__stream *stream = replay_read(names[i]);
    replay_options options = {.device = "sim:ideal", .hazards = REPLAY_BUFFER, .window = 4096};
    double us = replay_run(stream, &options), bound_us = replay_bound(stream);
    printf("%-14s limit %6.1f us, makespan %6.1f us, %.3f\n", names[i], bound_us, us, us / bound_us);
    assert_true(us >= bound_us - 0.01);
    sum += log(us / bound_us);
    if (us / bound_us > largest) largest = us / bound_us;
    weir__stream_destroy(stream);
  }
  printf("geometric mean %.4f, largest %.3f\n", exp(sum / (double)count), largest);
  assert_true(exp(sum / (double)count) < 1.05);
  assert_true(largest < 1.15);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(makespans_are_near_the_limit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
