// SPDX-License-Identifier: Apache-2.0
//
// The baseline of oneTBB. Skipped where this build has it not.
#include "rig.h"

#include <stdio.h>

static void test_right(void **state) {
  (void)state;
  rig_run(&job_ways_tbb[0], "cpu:2", NULL, NULL);
}

static void test_other_device(void **state) {
  (void)state;
  rig_refused(&job_ways_tbb[0], "opencl", NULL, "'opencl'");
  rig_refused(&job_ways_tbb[0], "cuda:0", NULL, "'cuda:0'");
  rig_refused(&job_ways_tbb[0], "cpus", NULL, "'cpus'");
  rig_refused(&job_ways_tbb[0], "cpu:x", NULL, "'cpu:x'");
}

// Whether the build has it; if not, the reason is printed.
static bool is_there(void) {
  char why[JOB_WHY] = "";
  void *state = job_ways_tbb[0].open(rig_shape(NULL), &(job_options){.device = "cpu", .lines = 2, .workers = 2}, why);
  if (state)
    job_ways_tbb[0].close(state);
  else
    printf("skipped: %s: %s\n", job_ways_tbb[0].name, why);
  return state != NULL;
}

int main(void) {
  if (!is_there()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_right), cmocka_unit_test(test_other_device)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
