// SPDX-License-Identifier: Apache-2.0
//
// The workloads of bench/pipeline by Weir's ways and the baselines on a CUDA device, without a card: on the driver of tests/cuda/stub, which executes
// what nothing orders in random order. Functions for the CPU stand in for the kernels' CUDA code. Every result is right.
// test_pipeline_jobs_cuda_stub WORKLOAD NS JOBS: nothing but JOBS jobs of a workload, of the size that takes NS nanoseconds, on four lines, with
// kernels that do nothing: for callgrind, which counts what a job takes the host.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data.h"
#include "run_way.h"
#include "shape.h"
#include "stub_code.h"
#include "way_weir.h"
#include "ways.h"
#include "workloads.h"

// In place of the embedded texts: the functions, their greatest blocks and the bytes of their parameters, as the stub wants them.
extern const char sobel_kernels_source[], sssp_kernels_source[], knn_kernels_source[];
const char sobel_kernels_source[] = "STUB\nsobel_grey 64 8 8 4 4 4 4\nsobel_gradient 64 8 8 4 4 4 4\n";
const char sssp_kernels_source[] = "STUB\nsssp_begin 64 8 8 8 4\nsssp_relax 64 8 8 8 8 8 8 4\nsssp_settle 64 8 8 8 4\n";
const char knn_kernels_source[] =
    "STUB\nknn_distances 64 8 8 8\nknn_best_of_share 64 8 8 4 4\nknn_best_of_all 64 8 8 4 4\n";

enum { SEEDS = 3, TOKENS = JOB_VARIANTS + 3, MOST_CODES = 32 };

static const weir_kernel_code *codes[MOST_CODES]; // of all workloads
static uint32_t code_count;

static const weir_kernel_code *code_of(const char *name) {
  for (uint32_t i = 0; i < code_count; i++) {
    if (strcmp(codes[i]->name, name) == 0) return codes[i];
  }
  return NULL;
}

static void run_kernel(const stub_launch *launch) {
  stub_run_code(launch, code_of(launch->name));
}

static void test_results(void **unused) {
  (void)unused;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    assert_true(stub_configure(&(stub_options){.seed = seed, .executors = (uint32_t)(seed % 3)}));
    weir_context *context;
    assert_int_equal(weir_context_create(&(weir_context_options){.devices = "cuda:0"}, &context), WEIR_OK);
    for (uint32_t i = 0; i < JOB_WORKLOADS; i++) {
      for (uint32_t j = 0; j < job_ways_weir_count; j++) {
        run_way(job_workloads[i], &job_ways_weir[j], "cuda:0", weir_context_device(context, 0), TOKENS);
      }
      for (uint32_t j = 0; j < job_ways_cuda_count; j++) {
        run_way(job_workloads[i], &job_ways_cuda[j], "cuda:0", weir_context_device(context, 0), TOKENS);
      }
    }
    weir_context_release(context);
    assert_string_equal(stub_violation_text(), "");
  }
}

static void *const *next_input(void *user, uint64_t token) {
  return job_next_input(user, token);
}

static void drop_results(void *user, uint64_t token, void *const *hosts) {
  (void)user;
  (void)token;
  (void)hosts;
}

// What a job costs of the driver: a launch, and nothing that asks about memory or makes the context current. Its copies, which are
// small, go by a kernel.
static void test_calls(void **unused) {
  (void)unused;
  static const char *const none[] = {"cuPointerGetAttribute", "cuCtxPushCurrent", "cuMemcpyAsync", "cuLaunchKernel",
                                     "cuGraphAddMemcpyNode"};
  assert_true(stub_configure(&(stub_options){.seed = 1}));
  weir_context *context;
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "cuda:0"}, &context), WEIR_OK);
  for (uint32_t i = 0; i < JOB_WORKLOADS; i++) {
    job_data data;
    char why[JOB_WHY] = "";
    assert_true(job_data_create(job_workloads[i], "cuda", SMALL_NS, weir_context_device(context, 0), &data, why));
    void *state = job_ways_weir[0].open(&data.shape, &(job_options){"cuda:0", 1, 2}, why);
    assert_non_null(state);
    const job_feed feed = {next_input, drop_results, &data};
    assert_true(job_ways_weir[0].run(state, TOKENS, &feed, why));
    uint64_t before[sizeof none / sizeof *none], launches = stub_calls("cuGraphLaunch");
    for (size_t j = 0; j < sizeof none / sizeof *none; j++) before[j] = stub_calls(none[j]);
    assert_true(job_ways_weir[0].run(state, TOKENS, &feed, why));
    assert_int_equal(stub_calls("cuGraphLaunch") - launches, TOKENS);
    for (size_t j = 0; j < sizeof none / sizeof *none; j++) {
      if (stub_calls(none[j]) != before[j]) fail_msg("%s: %s is called", job_workloads[i]->name, none[j]);
    }
    job_ways_weir[0].close(state);
    job_data_free(&data);
  }
  weir_context_release(context);
  assert_string_equal(stub_violation_text(), "");
}

static void do_nothing(const stub_launch *launch) {
  (void)launch;
}

static int run_only(const char *name, uint64_t size_ns, uint64_t jobs) {
  for (uint32_t i = 0; i < JOB_WORKLOADS; i++) {
    if (strcmp(job_workloads[i]->name, name) != 0) continue;
    weir_context *context;
    job_data data;
    char why[JOB_WHY] = "";
    void *state = NULL;
    if (weir_context_create(&(weir_context_options){.devices = "cuda:0"}, &context) != WEIR_OK) return 1;
    bool good = job_data_create(job_workloads[i], "cuda", size_ns, weir_context_device(context, 0), &data, why);
    if (good) state = job_ways_weir[0].open(&data.shape, &(job_options){"cuda:0", 4, 2}, why);
    const job_feed feed = {next_input, drop_results, &data};
    good = state != NULL && job_ways_weir[0].run(state, jobs, &feed, why);
    uint32_t kernels = 0;
    for (uint32_t j = 0; good && j < data.shape.step_count; j++) kernels += data.shape.steps[j].kind == JOB_KERNEL;
    printf("%s: %u kernels a job %s\n", name, kernels, why);
    if (state != NULL) job_ways_weir[0].close(state);
    job_data_free(&data);
    weir_context_release(context);
    return good ? 0 : 1;
  }
  return 2;
}

int main(int argc, char **argv) {
  setenv("WEIR_CUDA_DRIVER", CUDA_STUB, 1);
  setenv("WEIR_NVRTC", NVRTC_STUB, 1);
  setenv("WEIR_CACHE", "", 1); // none
  for (uint32_t i = 0; i < JOB_WORKLOADS; i++) {
    job_shape shape;
    if (!job_workloads[i]->shape("cpu", SMALL_NS, &shape)) return 1;
    for (uint32_t j = 0; j < shape.step_count; j++) {
      const weir_kernel_code *code = shape.steps[j].code;
      if (shape.steps[j].kind != JOB_KERNEL || code_of(code->name) != NULL) continue;
      if (code_count == MOST_CODES) return 1;
      codes[code_count++] = code;
      stub_register(code->name, argc == 4 ? do_nothing : run_kernel);
    }
    job_shape_free(&shape);
  }
  if (argc == 4) return run_only(argv[1], strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_results), cmocka_unit_test(test_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
