// SPDX-License-Identifier: Apache-2.0
//
// Worlds on the CUDA device, without a card: on the driver of tests/cuda/stub, which executes what nothing orders in random
// order. The kernels' functions for the CPU stand in for their CUDA code. States are those of the CPU device, to the bit, for
// every way of issue.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "motion.kernels.h"
#include "simulation.h"
#include "stub_code.h"

// In place of the embedded text: the functions, their greatest blocks and the bytes of their parameters, as the stub
// wants them.
const char motion_kernels_source[] = "STUB\ndrive 32 8 8 8 8 4 24\nsolve 32 8 8 8 4 4 24\nobserve 32 8 8 4 24\n";

enum { SEEDS = 8 };

static void run_kernel(const stub_launch *launch) {
  const weir_kernel_code *const kernels[] = {&drive, &solve, &observe};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    if (strcmp(kernels[i]->name, launch->name) == 0) stub_run_code(launch, kernels[i]);
  }
}

static void run_group(const stub_launch *launch, uint64_t group) {
  const weir_kernel_code *const kernels[] = {&drive, &solve, &observe};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    if (strcmp(kernels[i]->name, launch->name) == 0) stub_run_groups(launch, kernels[i], group, group + 1);
  }
}

static void test_same_bits(void **state) {
  (void)state;
  simulation_options options = {.devices = "cpu:1", .worlds = 3, .bodies = 12, .steps = 20, .seed = 8};
  simulation_result expected, result;
  assert_int_equal(sizeof(physics_rules), 24);
  assert_int_equal(simulation_run(&options, &expected), WEIR_OK);
  options.devices = "cuda";
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    static const weir_issue issues[] = {WEIR_ISSUE_AUTO, WEIR_ISSUE_QUEUES, WEIR_ISSUE_GRAPHS, WEIR_ISSUE_RESIDENT};
    assert_true(stub_configure(&(stub_options){.seed = seed, .executors = (uint32_t)(seed % 3)}));
    options.flags = seed == 1 ? WEIR_CONTEXT_IN_ORDER : 0;
    options.issue = issues[seed % 4];
    options.threads = 1 + (int32_t)(seed % 2);
    assert_int_equal(simulation_run(&options, &result), WEIR_OK);
    assert_string_equal(stub_violation_text(), "");
    int32_t step, number;
    if (!simulation_same(&options, &expected, &result, &step, &number)) {
      fail_msg("seed %u: different from step %d of world %d on", (unsigned)seed, step, number);
    }
    simulation_result_release(&result);
  }
  simulation_result_release(&expected);
}

int main(void) {
  setenv("WEIR_CUDA_DRIVER", CUDA_STUB, 1);
  setenv("WEIR_NVRTC", NVRTC_STUB, 1);
  setenv("WEIR_CACHE", "", 1); // none
  const char *const names[] = {"drive", "solve", "observe"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    stub_register(names[i], run_kernel);
    stub_register_groups(names[i], run_group);
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
