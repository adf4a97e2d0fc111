// SPDX-License-Identifier: Apache-2.0
//
// test_pipeline_jobs [DEVICE [WORKLOAD...]]: the workloads of bench/pipeline by Weir's ways on the device: every result of more tokens
// than lines and variants equals the reference, and a wrong one is found.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run_way.h"
#include "shape.h"
#include "way_weir.h"
#include "weir/weir.h"
#include "workloads.h"

enum { LINES = 3, TOKENS = 2 * JOB_VARIANTS + 3 };

static const char *device_name = "cpu:2";
static char **chosen; // workloads, or none for all; ended by NULL

static bool is_chosen(const char *name) {
  for (int i = 0; chosen[i]; i++) {
    if (strcmp(chosen[i], name) == 0) return true;
  }
  return chosen[0] == NULL;
}

static void results_equal_the_reference(void **unused) {
  (void)unused;
  for (uint32_t i = 0; i < JOB_WORKLOADS; i++) {
    if (!is_chosen(job_workloads[i]->name)) continue;
    for (uint32_t j = 0; j < job_ways_weir_count; j++)
      run_way(job_workloads[i], &job_ways_weir[j], device_name, NULL, TOKENS);
  }
}

static void wrong_results_are_found(void **unused) {
  (void)unused;
  for (uint32_t i = 0; i < JOB_WORKLOADS; i++) {
    job_data data;
    char why[JOB_WHY] = "";
    assert_true(job_data_create(job_workloads[i], "cpu", SMALL_NS, NULL, &data, why));
    assert_true(job_results_right(&data, 1, data.expected[1], why));
    assert_false(job_results_right(&data, 0, data.expected[1], why)); // variants differ
    assert_non_null(strstr(why, job_workloads[i]->name));
    job_checked checked = {.data = &data};
    job_feed feed = job_checked_feed(&checked);
    feed.done(feed.user, 1, data.expected[1]); // out of turn
    assert_true(checked.wrong);
    job_data_free(&data);
  }
}

static void shapes_are_whole(void **unused) {
  (void)unused;
  static const char *const kinds[] = {"cpu", "opencl", "cuda"};
  for (uint32_t i = 0; i < JOB_WORKLOADS * 3 * 3; i++) {
    static const uint64_t times[] = {10000, 100000, 1000000};
    job_shape shape;
    assert_true(job_workloads[i / 9]->shape(kinds[i / 3 % 3], times[i % 3], &shape));
    bool written[JOB_MOST_BUFFERS] = {false};
    for (uint32_t j = 0; j < shape.step_count; j++) {
      const job_step *step = &shape.steps[j];
      if (step->kind == JOB_COPY_IN) written[step->buffer] = true;
      if (step->kind == JOB_COPY_OUT) assert_true(written[step->buffer]);
      for (uint32_t a = 0; step->kind == JOB_KERNEL && a < step->arg_count; a++) {
        const job_arg *arg = &step->args[a];
        if (arg->is_value) continue;
        assert_true(arg->buffer < shape.buffer_count);
        assert_true(arg->mode == WEIR_WRITE || written[arg->buffer]);
        if (arg->mode != WEIR_READ) written[arg->buffer] = true;
      }
    }
    job_shape_free(&shape);
  }
}

// A device that is not there is said with its reason.
static void missing_devices_are_named(void **unused) {
  (void)unused;
  job_shape shape;
  char why[JOB_WHY] = "";
  assert_true(job_knn.shape("cpu", SMALL_NS, &shape));
  assert_null(job_ways_weir[0].open(&shape, &(job_options){"toaster", LINES, 2}, why));
  assert_non_null(strstr(why, "toaster"));
  job_shape_free(&shape);
}

int main(int argc, char **argv) {
  if (argc > 1) device_name = argv[1];
  chosen = argv + (argc > 1 ? 2 : 1);
  weir_context *context;
  if (weir_context_create(&(weir_context_options){.devices = device_name}, &context) != WEIR_OK) {
    printf("skipped: %s\n", weir_last_error());
    return 77;
  }
  weir_context_release(context);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_equal_the_reference),
      cmocka_unit_test(wrong_results_are_found),
      cmocka_unit_test(shapes_are_whole),
      cmocka_unit_test(missing_devices_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
