// SPDX-License-Identifier: Apache-2.0
//
// Tasks that commute: any order is right, but not at the same time, and not on the wrong side of another access.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "schedule.h"

// A write, three tasks that commute in part on each other's bytes, a reader, and one that commutes again.
enum { WRITE, LEFT, RIGHT, BOTH, READ, AGAIN, TASKS };

static const char stream_text[] =
    "{\"weir_stream\":1,\"name\":\"commute\",\"sms\":1,\"tasks\":6}\n"
    "{\"buffer\":1,\"bytes\":64,\"address\":0}\n"
    "{\"op\":\"write\",\"reads\":[],\"writes\":[[1,0,64]],\"kernels\":[]}\n"
    "{\"op\":\"left\",\"reads\":[],\"writes\":[],\"commutes\":[[1,0,40]],\"kernels\":[]}\n"
    "{\"op\":\"right\",\"reads\":[],\"writes\":[],\"commutes\":[[1,24,40]],\"kernels\":[]}\n"
    "{\"op\":\"both\",\"reads\":[],\"writes\":[],\"commutes\":[[1,0,64]],\"kernels\":[]}\n"
    "{\"op\":\"read\",\"reads\":[[1,30,2]],\"writes\":[],\"kernels\":[]}\n"
    "{\"op\":\"again\",\"reads\":[],\"writes\":[],\"commutes\":[[1,0,64]],\"kernels\":[]}\n";

// The tasks one after another, 10 ns each, in this order.
static weir__check_result run(const uint32_t order[TASKS], uint64_t early, weir__check_report *report) {
  weir__stream *stream = stream_from(stream_text);
  schedule_options options = {.passes = 1, .workers = 1, .seed = 1};
  weir__timeline *timeline = schedule(stream, &options);
  for (uint32_t i = 0; i < TASKS; i++) {
    weir__timeline_task *task = &timeline->tasks[order[i]];
    task->submit_ns = 0;
    task->start_ns = 10u * i + 10 - (order[i] == BOTH ? early : 0);
    task->end_ns = 10u * i + 20;
  }
  weir__check_result result = check_as_json(timeline, stream, NULL, report);
  weir__timeline_destroy(timeline);
  weir__stream_destroy(stream);
  return result;
}

static void proves(const uint32_t order[TASKS]) {
  weir__check_report report;
  if (run(order, 0, &report) != WEIR__CHECK_PROVED) fail_msg("%s", report.text);
}

static void finds(const uint32_t order[TASKS], uint64_t early, const char *what) {
  weir__check_report report;
  assert_int_equal(run(order, early, &report), WEIR__CHECK_BROKEN);
  if (strstr(report.text, what) == NULL) fail_msg("'%s' is not in %s", what, report.text);
}

static void in_any_order(void **state) {
  (void)state;
  proves((uint32_t[]){WRITE, LEFT, RIGHT, BOTH, READ, AGAIN});
  proves((uint32_t[]){WRITE, BOTH, RIGHT, LEFT, READ, AGAIN});
  proves((uint32_t[]){WRITE, RIGHT, LEFT, BOTH, READ, AGAIN});
}

static void not_at_the_same_time(void **state) {
  (void)state;
  finds((uint32_t[]){WRITE, LEFT, RIGHT, BOTH, READ, AGAIN}, 1, "RAW broken: task 'right'");
  finds((uint32_t[]){WRITE, RIGHT, BOTH, LEFT, READ, AGAIN}, 1, "RAW broken: task 'right'");
}

static void not_past_others(void **state) {
  (void)state;
  finds((uint32_t[]){LEFT, WRITE, RIGHT, BOTH, READ, AGAIN}, 0, "broken");
  finds((uint32_t[]){WRITE, LEFT, RIGHT, READ, BOTH, AGAIN}, 0, "RAW broken: task 'both'");
  finds((uint32_t[]){WRITE, LEFT, RIGHT, BOTH, AGAIN, READ}, 0, "broken");
}

static void random_schedules(void **state) {
  (void)state;
  uint64_t seed = random_seed(11);
  for (int round = 0; round < 60; round++) {
    stream_shape shape = {.tasks = 40, .buffers = (uint32_t)random_in(&seed, 1, 5), .most_bytes = 60, .commutes = true};
    weir__stream *stream = random_stream(&shape, random_next(&seed));
    schedule_options options = {.passes = 2, .workers = 3, .by_address = round % 3 == 0, .rename = true};
    options.seed = random_next(&seed);
    weir__timeline *timeline = schedule(stream, &options);
    weir__check_report report;
    if (check_as_json(timeline, stream, NULL, &report) != WEIR__CHECK_PROVED) fail_msg("%s", report.text);
    weir__timeline_destroy(timeline);
    weir__stream_destroy(stream);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_any_order),
      cmocka_unit_test(not_at_the_same_time),
      cmocka_unit_test(not_past_others),
      cmocka_unit_test(random_schedules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
