// SPDX-License-Identifier: Apache-2.0
//
// Critical paths and limits of the recorded streams, against those that came with the recordings.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "plan/stream_plan.h"

// `limit`: the column of the table of measurements; 0 where the table has no row.
static const struct {
  const char *name;
  double limit;
} streams[] = {
    {"squeezenet", 216},    {"condconv_b0", 775},  {"inception_v3", 860}, {"hrnet_w18", 472},  {"randwire", 518},
    {"nasnetalarge", 2038}, {"dynroute_a.0", 353}, {"dynroute_a.1", 0},   {"dynroute_a.2", 0},
};
enum { STREAM_COUNT = sizeof streams / sizeof *streams };

static weir__stream *read_sample(const char *name) {
  char path[256], message[256];
  snprintf(path, sizeof path, "examples/streams/%s.jsonl", name);
  weir__stream *stream;
  if (weir__stream_read(path, message, sizeof message, &stream) != WEIR_OK) fail_msg("%s", message);
  return stream;
}

static void assert_close(const char *name, const char *what, double is, double should, double tolerance) {
  if (!(fabs(is - should) <= tolerance)) fail_msg("%s: %s is %.3f us, not %.3f", name, what, is, should);
}

static void critical_paths_are_those_of_the_recordings(void **state) {
  (void)state;
  for (int i = 0; i < STREAM_COUNT; i++) {
    weir__stream *stream = read_sample(streams[i].name);
    double by_address, by_buffer, serial;
    assert_int_equal(weir__stream_limits(stream, WEIR__PLAN_SERIAL, &serial, NULL), WEIR_OK);
    assert_int_equal(weir__stream_limits(stream, WEIR__PLAN_ADDRESS, &by_address, NULL), WEIR_OK);
    assert_int_equal(weir__stream_limits(stream, WEIR__PLAN_BUFFER, &by_buffer, NULL), WEIR_OK);
    assert_close(stream->name, "serial time", serial, stream->kernel_us, 0.1);
    assert_close(stream->name, "critical path by address", by_address, stream->critical_us_by_address, 0.1);
    assert_close(stream->name, "critical path by buffer", by_buffer, stream->critical_us_by_buffer, 0.1);
    weir__stream_destroy(stream);
  }
}

static void limits_are_those_of_the_table(void **state) {
  (void)state;
  for (int i = 0; i < STREAM_COUNT; i++) {
    weir__stream *stream = read_sample(streams[i].name);
    double bounds[3];
    for (int mode = 0; mode < 3; mode++)
      assert_int_equal(weir__stream_limits(stream, (weir__plan_mode)mode, NULL, &bounds[mode]), WEIR_OK);
    assert_true(bounds[0] == bounds[2] && bounds[1] == bounds[2]);
    if (streams[i].limit > 0) assert_close(stream->name, "limit", bounds[2], streams[i].limit, 1);
    weir__stream_destroy(stream);
  }
}

static void plans_agree_with_themselves(void **state) {
  (void)state;
  for (int i = 0; i < STREAM_COUNT; i++) {
    weir__stream *stream = read_sample(streams[i].name);
    for (int mode = 0; mode < 3; mode++) {
      weir__stream_plan plan;
      assert_int_equal(weir__stream_plan_create(stream, (weir__plan_mode)mode, 0, &plan), WEIR_OK);
      assert_true(weir__plan_graph_edge_count(&plan.reduced) <= weir__plan_graph_edge_count(&plan.graph));
      assert_close(stream->name, "makespan without a window", plan.makespan_us, plan.critical_us, 1e-9);
      double path_us = 0;
      for (uint32_t t = 0; t < plan.critical_count; t++) path_us += plan.task_us[plan.critical_path[t]];
      assert_close(stream->name, "sum over the critical path", path_us, plan.critical_us, 1e-6);
      assert_true(plan.level_count >= plan.critical_count);
      if (mode == WEIR__PLAN_SERIAL) assert_int_equal(plan.level_count, stream->task_count);
      weir__stream_plan_free(&plan);
    }
    weir__stream_destroy(stream);
  }
}

static void a_window_of_one_is_serial(void **state) {
  (void)state;
  weir__stream *stream = read_sample("randwire");
  double last = INFINITY;
  for (uint32_t window = 1; window <= 1024; window *= 2) {
    weir__stream_plan plan;
    assert_int_equal(weir__stream_plan_create(stream, WEIR__PLAN_BUFFER, window, &plan), WEIR_OK);
    if (window == 1)
      assert_close(stream->name, "makespan with a window of one", plan.makespan_us, plan.serial_us, 1e-6);
    assert_true(plan.makespan_us <= last && plan.makespan_us >= plan.critical_us);
    if (window >= stream->task_count) assert_true(plan.makespan_us == plan.critical_us);
    last = plan.makespan_us;
    weir__stream_plan_free(&plan);
  }
  weir__stream_destroy(stream);
}

static void every_failed_allocation_is_reported(void **state) {
  (void)state;
  weir__stream *stream = read_sample("squeezenet");
  uint64_t n = 0;
  weir_status status;
  do {
    weir__stream_plan plan;
    weir__allocate_fail_at(++n);
    status = weir__stream_plan_create(stream, WEIR__PLAN_ADDRESS, 0, &plan);
    weir__allocate_fail_at(0);
    assert_true(status == WEIR_OK || status == WEIR_ERROR_OUT_OF_MEMORY);
    if (status != WEIR_OK) assert_null(plan.hazards.items);
    weir__stream_plan_free(&plan);
  } while (status != WEIR_OK);
  assert_true(n > 10);
  weir__stream_destroy(stream);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(critical_paths_are_those_of_the_recordings),
      cmocka_unit_test(limits_are_those_of_the_table),
      cmocka_unit_test(plans_agree_with_themselves),
      cmocka_unit_test(a_window_of_one_is_serial),
      cmocka_unit_test(every_failed_allocation_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
