// SPDX-License-Identifier: Apache-2.0
//
// Baselines on the first OpenCL device.
#include "rig.h"

#include <stdio.h>
#include <string.h>

#include "device/opencl/driver.h"

static void test_right(void **state) {
  (void)state;
  for (uint32_t i = 0; i < job_ways_opencl_count; i++) rig_run(&job_ways_opencl[i], "opencl:0", NULL, NULL);
}

static void test_refusals(void **state) {
  (void)state;
  for (uint32_t i = 0; i < job_ways_opencl_count; i++) {
    rig_refused(&job_ways_opencl[i], "opencl:77", NULL, "opencl:77: this machine has");
    rig_refused(&job_ways_opencl[i], "opencl:0/2.0", NULL, "'opencl:0/2.0'");
    rig_refused(&job_ways_opencl[i], "cpu", NULL, "'cpu'");
    rig_refused(&job_ways_opencl[i], "opencl", "this is no source", "does not compile");
  }
}

int main(void) {
  char reason[256] = "";
  const weir__opencl_driver *driver = weir__opencl_driver_load(reason, sizeof reason);
  if (!driver) {
    printf("skipped: %s\n", reason);
    return 77;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_right), cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
