// SPDX-License-Identifier: Apache-2.0
//
// Rings that wrap: the build gives them two places each, and RESIDENT_WRAPS says how often they go round. Numbers and positions
// wrap, too, in the middle.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "counting.h"

static void run(uint32_t tasks, uint32_t units, uint32_t workers) {
  test_rig rig;
  unit_counter counter = {0};
  rig_create(
      &rig, &(rig_options){.workers = workers, .idle_ns = 200000, .most_ns = 50000000, .base = 0u - tasks * units / 2});
  counting_run(&rig, &counter, tasks, units);
  rig_stop(&rig);
  counting_check(&rig, &counter, tasks, units);
  rig_destroy(&rig);
}

static void test_both_rings(void **state) {
  (void)state;
  run(RESIDENT_WRAPS * WEIR__R_SLOTS, 1, 1);
}

static void test_more_workers_than_places(void **state) {
  (void)state;
  run(RESIDENT_WRAPS / 100 * WEIR__R_SLOTS, 3, 4);
}

static void test_many_units(void **state) {
  (void)state;
  run(3, RESIDENT_WRAPS / 100 * WEIR__R_SEGMENTS, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_both_rings),
      cmocka_unit_test(test_more_workers_than_places),
      cmocka_unit_test(test_many_units),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
