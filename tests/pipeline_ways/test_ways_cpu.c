// SPDX-License-Identifier: Apache-2.0
//
// Baselines on the CPU.
#include "rig.h"
#include "way_steps.h"

static void test_right(void **state) {
  (void)state;
  for (uint32_t i = 0; i < job_ways_cpu_count; i++) rig_run(&job_ways_cpu[i], "cpu:2", NULL, NULL);
}

static void test_other_device(void **state) {
  (void)state;
  for (uint32_t i = 0; i < job_ways_cpu_count; i++) {
    rig_refused(&job_ways_cpu[i], "cuda:0", NULL, "'cuda:0'");
    rig_refused(&job_ways_cpu[i], "cpus", NULL, "'cpus'");
    rig_refused(&job_ways_cpu[i], "cpu:x", NULL, "'cpu:x'");
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Dependences

static void expect_before(const way_steps *steps, uint32_t step, uint32_t count, const uint32_t *before) {
  assert_int_equal(steps->first_before[step + 1] - steps->first_before[step], count);
  assert_memory_equal(steps->before + steps->first_before[step], before, count * sizeof *before);
}

#define EXPECT_BEFORE(step, ...)                                                                                       \
  expect_before(&steps, step, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (uint32_t[]){__VA_ARGS__})

static void test_steps(void **state) {
  (void)state;
  way_steps steps;
  assert_true(way_steps_make(rig_shape(NULL), &steps));
  assert_int_equal(steps.count, RIG_STEPS);
  expect_before(&steps, 0, 0, NULL);
  expect_before(&steps, 1, 0, NULL);
  EXPECT_BEFORE(2, 0);
  EXPECT_BEFORE(3, 0, 1);
  EXPECT_BEFORE(4, 2, 3);
  EXPECT_BEFORE(5, 4);    // and so after step 2
  EXPECT_BEFORE(6, 4);    // writes what step 4 has read
  EXPECT_BEFORE(7, 5, 6); //
  EXPECT_BEFORE(8, 5);
  EXPECT_BEFORE(9, 7);
  EXPECT_BEFORE(10, 6); // writes what steps 2 and 3 have read, both of which step 6 follows
  EXPECT_BEFORE(11, 10);
  assert_int_equal(steps.first_after[RIG_STEPS], steps.first_before[RIG_STEPS]);
  assert_int_equal(steps.first_after[5] - steps.first_after[4], 2);
  assert_int_equal(steps.after[steps.first_after[4]], 5);
  assert_int_equal(steps.after[steps.first_after[4] + 1], 6);
  way_steps_free(&steps);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps), cmocka_unit_test(test_right),
                                     cmocka_unit_test(test_other_device)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
