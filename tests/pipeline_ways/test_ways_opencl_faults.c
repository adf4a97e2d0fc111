// SPDX-License-Identifier: Apache-2.0
//
// Baselines on the first OpenCL device, while its driver's calls fail: they say so, and leave nothing behind.
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>

#include "device/opencl/api.h"
#include "fault_loader.h"

// The first call of the function fails, then one in the middle of the stream.
static void fail_calls(const job_way *way, const char *function) {
  static const uint64_t calls[] = {1, 5};
  const job_options options = {.device = "opencl", .lines = 2, .workers = 2};
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    const int64_t live = fault_loader_live();
    char why[JOB_WHY] = "";
    fault_loader_fail(function, calls[i], CL_OUT_OF_RESOURCES);
    void *opened = way->open(rig_shape(NULL), &options, why);
    bool good = opened && rig_stream(way, opened, &options, 5, RIG_PROMPT, NULL, why);
    const bool failed = fault_loader_failed();
    fault_loader_fail(function, 0, CL_SUCCESS);
    if (opened) way->close(opened);
    if (good == failed) fail_msg("%s: %s failed: %d, the way: %d: %s", way->name, function, failed, !good, why);
    if (!good && why[0] == '\0') fail_msg("%s: %s fails without a reason", way->name, function);
    if (fault_loader_live() != live) fail_msg("%s: %s failed: objects are left", way->name, function);
  }
}

static void test_each_call(void **state) {
  (void)state;
  static const char *const functions[] = {"clCreateContext",
                                          "clCreateCommandQueueWithProperties",
                                          "clCreateBuffer",
                                          "clCreateProgramWithSource",
                                          "clCreateKernel",
                                          "clSetKernelArg",
                                          "clEnqueueWriteBuffer",
                                          "clEnqueueReadBuffer",
                                          "clEnqueueNDRangeKernel",
                                          "clEnqueueMarkerWithWaitList",
                                          "clFlush",
                                          "clFinish",
                                          "clWaitForEvents"};
  for (uint32_t i = 0; i < job_ways_opencl_count; i++)
    for (size_t j = 0; j < sizeof functions / sizeof functions[0]; j++) fail_calls(&job_ways_opencl[i], functions[j]);
}

int main(void) {
  const char *why = NULL;
  if (!fault_loader_available(&why)) {
    printf("skipped: %s\n", why);
    return 77;
  }
  setenv("WEIR_OPENCL_LOADER", FAULT_LOADER, 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_call)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
