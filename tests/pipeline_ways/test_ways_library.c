// SPDX-License-Identifier: Apache-2.0
//
// Baselines of a library, "tbb" or "taskflow". Skipped where this build has it not.
#include "rig.h"

#include <stdio.h>
#include <string.h>

static const job_way *ways;
static uint32_t count;

static void test_right(void **state) {
  (void)state;
  for (uint32_t i = 0; i < count; i++) rig_run(&ways[i], "cpu:2", NULL, NULL);
}

static void test_other_device(void **state) {
  (void)state;
  for (uint32_t i = 0; i < count; i++) rig_refused(&ways[i], "opencl", NULL, "'opencl'");
}

// Whether the build has it; if not, the reason is printed.
static bool is_there(void) {
  char why[JOB_WHY] = "";
  void *state = ways[0].open(rig_shape(NULL), &(job_options){.device = "cpu", .lines = 2, .workers = 2}, why);
  if (state)
    ways[0].close(state);
  else
    printf("skipped: %s: %s\n", ways[0].name, why);
  return state != NULL;
}

int main(int argc, char **argv) {
  bool tbb = argc == 2 && strcmp(argv[1], "tbb") == 0;
  ways = tbb ? job_ways_tbb : job_ways_taskflow;
  count = tbb ? job_ways_tbb_count : job_ways_taskflow_count;
  if (!is_there()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_right), cmocka_unit_test(test_other_device)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
