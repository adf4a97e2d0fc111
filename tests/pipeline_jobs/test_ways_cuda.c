// SPDX-License-Identifier: Apache-2.0
//
// Baselines on CUDA devices, without a card: on the driver of tests/cuda/stub, which executes what nothing orders in random
// order. The kernels' functions for the CPU stand in for their CUDA code.
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#include "device/cuda/driver.h"
#include "stub_code.h"
#include "way_cuda_lines.h"

enum { SEEDS = 2 };

static const char source[] =
    "STUB\nways_scale 64 8 8 4 4\nways_mix 64 8 8 8 4\nways_join 64 8 8 8 4\nways_bump 64 8 8 4\n"
    "ways_fold 16 8 8 8 4\n";

static void run_kernel(const stub_launch *launch) {
  stub_run_code(launch, rig_code(launch->name));
}

static void begin(uint64_t seed) {
  assert_true(stub_configure(&(stub_options){.devices = 2, .seed = seed, .executors = 1 + (uint32_t)seed % 2}));
}

static void end(void) {
  assert_string_equal(stub_violation_text(), "");
  assert_int_equal(stub_live_count(), 0);
}

static void test_right(void **state) {
  (void)state;
  for (uint32_t i = 0; i < job_ways_cuda_count; i++) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
      begin(seed);
      rig_run(&job_ways_cuda[i], seed == 1 ? "cuda" : "cuda:1", source, NULL);
      end();
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Dependences

static void expect_before(const bool *direct, uint32_t step, uint32_t count, const uint32_t *before) {
  uint32_t found = 0;
  for (uint32_t p = 0; p < RIG_STEPS; p++) {
    if (!direct[step * RIG_STEPS + p]) continue;
    assert_true(found < count);
    assert_int_equal(p, before[found++]);
  }
  assert_int_equal(found, count);
}

#define EXPECT_BEFORE(step, ...)                                                                                       \
  expect_before(direct, step, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (uint32_t[]){__VA_ARGS__})

static void test_edges(void **state) {
  (void)state;
  bool *direct = way_cuda_direct_edges(rig_shape(NULL));
  assert_non_null(direct);
  expect_before(direct, 0, 0, NULL);
  expect_before(direct, 1, 0, NULL);
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
  free(direct);
}

// ---------------------------------------------------------------------------------------------------------------
// A feed with pinned memory: it is copied from without a detour.

static const weir__cuda_driver *driver;

static void *allocate_pinned(size_t bytes) {
  void *memory = NULL;
  return driver->cuMemHostAlloc(&memory, bytes, 0) == CUDA_SUCCESS ? memory : NULL;
}

static void release_pinned(void *memory) {
  driver->cuMemFreeHost(memory);
}

static void test_pinned(void **state) {
  (void)state;
  const rig_memory pinned = {allocate_pinned, release_pinned};
  for (uint32_t i = 0; i < job_ways_cuda_count; i++) {
    begin(i + 1);
    CUcontext context = NULL;
    char reason[256];
    driver = weir__cuda_driver_load(reason, sizeof reason);
    assert_non_null(driver);
    assert_int_equal(driver->cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    assert_int_equal(driver->cuCtxPushCurrent(context), CUDA_SUCCESS);
    rig_run(&job_ways_cuda[i], "cuda:0", source, &pinned);
    assert_int_equal(driver->cuCtxPopCurrent(&context), CUDA_SUCCESS);
    assert_int_equal(driver->cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    end();
  }
}

// ---------------------------------------------------------------------------------------------------------------

static void test_refusals(void **state) {
  (void)state;
  for (uint32_t i = 0; i < job_ways_cuda_count; i++) {
    begin(1);
    rig_refused(&job_ways_cuda[i], "cuda:7", source, "cuda:7: this machine has 2 CUDA devices");
    rig_refused(&job_ways_cuda[i], "cpu", source, "'cpu'");
    rig_refused(&job_ways_cuda[i], "cuda", "#error nothing", "#error nothing");
    end();
  }
}

// Each call of the driver fails in turn, until opening a way and a stream of jobs get by without.
static void fail_each(const job_way *way, int result) {
  const job_options options = {.device = "cuda", .lines = 3, .workers = 2};
  bool failed = true;
  for (uint64_t nth = 1; failed; nth++) {
    begin(nth);
    char why[JOB_WHY] = "";
    stub_fail_nth(NULL, nth, result);
    void *opened = way->open(rig_shape(source), &options, why);
    bool good = opened && rig_stream(way, opened, &options, 5, RIG_PROMPT, NULL, why);
    failed = stub_failed() != NULL;
    if (!good && !failed) fail_msg("%s fails by itself: %s", way->name, why);
    if (!good && why[0] == '\0') fail_msg("%s fails without a reason", way->name);
    if (opened) way->close(opened);
    end();
  }
}

static void test_failures(void **state) {
  (void)state;
  for (uint32_t i = 0; i < job_ways_cuda_count; i++) fail_each(&job_ways_cuda[i], CUDA_ERROR_OUT_OF_MEMORY);
}

int main(void) {
  setenv("WEIR_CUDA_DRIVER", CUDA_STUB, 1);
  setenv("WEIR_NVRTC", NVRTC_STUB, 1);
  setenv("WEIR_CACHE", "", 1); // none
  const char *const names[] = {"ways_scale", "ways_mix", "ways_join", "ways_bump", "ways_fold"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) stub_register(names[i], run_kernel);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_edges), cmocka_unit_test(test_right),
                                     cmocka_unit_test(test_pinned), cmocka_unit_test(test_refusals),
                                     cmocka_unit_test(test_failures)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
