// SPDX-License-Identifier: Apache-2.0
//
// Each kind of mistake is planted in a small correct timeline, and found under its name.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schedule.h"

// Six tasks, one after another, 10 ns each. Buffer 1 is a parameter; buffers 2 and 3 share a storage.
enum { LOAD, USE, OVERWRITE, HALF, NEXT, SUM, TASKS };
enum { LOAD_1, LOAD_2, USE_2, OVERWRITE_2, HALF_2, NEXT_3, SUM_3 }; // accesses

static const char stream_text[] =
    "{\"weir_stream\":1,\"name\":\"planted\",\"sms\":1,\"tasks\":6}\n"
    "{\"buffer\":1,\"bytes\":100,\"address\":0}\n{\"buffer\":2,\"bytes\":64,\"address\":100}\n"
    "{\"op\":\"load\",\"reads\":[[1,0,100]],\"writes\":[[2,0,64]],\"kernels\":[]}\n"
    "{\"op\":\"use\",\"reads\":[[2,0,64]],\"writes\":[],\"kernels\":[],\"host_wait\":true}\n"
    "{\"op\":\"overwrite\",\"reads\":[],\"writes\":[[2,0,64]],\"kernels\":[]}\n"
    "{\"op\":\"half\",\"reads\":[[2,32,32]],\"writes\":[],\"kernels\":[]}\n"
    "{\"free\":[2]}\n{\"buffer\":3,\"bytes\":64,\"address\":100}\n"
    "{\"op\":\"next\",\"reads\":[],\"writes\":[[3,0,64]],\"kernels\":[]}\n"
    "{\"op\":\"sum\",\"reads\":[[3,0,16]],\"writes\":[[3,0,16]],\"kernels\":[]}\n";

static weir__timeline *make_correct(const weir__stream *stream) {
  schedule_options options = {.passes = 1, .workers = 1, .seed = 1};
  weir__timeline *timeline = schedule(stream, &options);
  for (uint32_t i = 0; i < TASKS; i++) {
    weir__timeline_task *task = &timeline->tasks[i];
    task->submit_ns = i <= USE ? 0 : 20;
    task->start_ns = 10u * i;
    task->end_ns = 10u * i + 10;
  }
  for (size_t i = 0; i < timeline->access_count; i++) timeline->accesses[i].storage = i == LOAD_1 ? 1 : 2;
  return timeline;
}

static void move(weir__timeline *timeline, size_t task, uint64_t start, uint64_t end) {
  timeline->tasks[task].submit_ns = timeline->tasks[task].submit_ns < start ? timeline->tasks[task].submit_ns : start;
  timeline->tasks[task].start_ns = start;
  timeline->tasks[task].end_ns = end;
}

static void remove_task(weir__timeline *timeline, size_t task) {
  memmove(&timeline->tasks[task], &timeline->tasks[task + 1],
          (timeline->task_count - task - 1) * sizeof *timeline->tasks);
  timeline->task_count--;
}

static void add_wait(weir__timeline *timeline, size_t task, uint64_t id) {
  timeline->waits[0] = (weir__timeline_wait){.task = id, .hazard = "RAW"};
  timeline->tasks[task].wait_first = 0;
  timeline->tasks[task].wait_count = 1;
  timeline->wait_count = 1;
}

static void plant_raw(weir__timeline *t) {
  move(t, USE, 5, 20);
}
static void plant_raw_zero_length(weir__timeline *t) {
  move(t, USE, 9, 9);
}
static void plant_war(weir__timeline *t) {
  move(t, OVERWRITE, 15, 30);
}
static void plant_war_before_all(weir__timeline *t) {
  move(t, USE, 31, 32);
}
static void plant_waw(weir__timeline *t) {
  move(t, OVERWRITE, 5, 8);
}
static void plant_storage(weir__timeline *t) {
  move(t, NEXT, 35, 50);
}
static void plant_lost(weir__timeline *t) {
  move(t, HALF, 51, 52);
}
static void plant_wrong_storage(weir__timeline *t) {
  t->accesses[HALF_2].storage = 9;
}
static void plant_parameter_lost(weir__timeline *t) {
  t->accesses[NEXT_3].storage = t->accesses[SUM_3].storage = 1;
}
static void plant_missing(weir__timeline *t) {
  remove_task(t, HALF);
}
static void plant_missing_last(weir__timeline *t) {
  remove_task(t, SUM);
}
static void plant_duplicate(weir__timeline *t) {
  t->tasks[HALF].tag = OVERWRITE + 1;
}
static void plant_unknown(weir__timeline *t) {
  t->tasks[SUM].tag = 78;
}
static void plant_other_pass(weir__timeline *t) {
  t->tasks[SUM].tag |= (uint64_t)9 << 32;
}
static void plant_same_id(weir__timeline *t) {
  t->tasks[SUM].id = t->tasks[LOAD].id;
}
static void plant_bytes(weir__timeline *t) {
  t->accesses[HALF_2].bytes = 16;
}
static void plant_offset(weir__timeline *t) {
  t->accesses[HALF_2].offset = 0;
}
static void plant_mode(weir__timeline *t) {
  t->accesses[SUM_3].mode = WEIR_WRITE;
}
static void plant_count(weir__timeline *t) {
  t->tasks[LOAD].access_count = 1;
}
static void plant_number(weir__timeline *t) {
  t->accesses[USE_2].buffer = 55;
}
static void plant_status(weir__timeline *t) {
  strcpy(t->tasks[NEXT].status, "WEIR_ERROR_CANCELLED");
}
static void plant_times(weir__timeline *t) {
  t->tasks[NEXT].end_ns = 39;
}
static void plant_start_before_submit(weir__timeline *t) {
  t->tasks[NEXT].submit_ns = 41;
}
static void plant_host_wait(weir__timeline *t) {
  t->tasks[OVERWRITE].submit_ns = 19;
}
static void plant_wait(weir__timeline *t) {
  add_wait(t, USE, t->tasks[HALF].id);
}
static void plant_wait_for_nobody(weir__timeline *t) {
  add_wait(t, USE, 99);
}
static void plant_dropped(weir__timeline *t) {
  t->dropped = 3;
}

typedef struct planted {
  void (*plant)(weir__timeline *timeline);
  const char *texts[4]; // that the report has
} planted;

static const planted all_planted[] = {
    {plant_raw,
     {"RAW broken: task 'load' (id 1, pass 0, number 1) writes buffer 2 [0, 64) in storage 2 from 0 to 10 ns; task "
      "'use' "
      "(id 2, pass 0, number 2) reads buffer 2 [0, 64) in storage 2 from 5 to 20 ns: the read starts before"}},
    {plant_raw_zero_length, {"RAW broken: task 'load'", "task 'use'", "from 9 to 9 ns"}},
    {plant_war,
     {"WAR broken: task 'use' (id 2, pass 0, number 2) reads buffer 2 [0, 64) in storage 2 from 10 to 20 ns; task "
      "'overwrite' (id 3, pass 0, number 3) writes buffer 2 [0, 64) in storage 2 from 15 to 30 ns: the write starts"}},
    {plant_war_before_all, {"WAR broken: task 'use'", "task 'overwrite'", "the later write starts before"}},
    {plant_waw, {"WAW broken: task 'load'", "task 'overwrite'", "the second write starts before the first one ends"}},
    {plant_storage,
     {"STORAGE broken: task 'half'", "reads buffer 2 [32, 64)", "task 'next'", "writes buffer 3 [32, 64)"}},
    {plant_lost, {"STORAGE broken: task 'next'", "task 'half'", "the storage was given away while"}},
    {plant_wrong_storage,
     {"RAW broken: task 'overwrite'", "in storage 2", "task 'half'",
      "in storage 9 from 30 to 40 ns: what is read was"}},
    {plant_parameter_lost, {"STORAGE broken: task 'next'", "the end of the stream reads buffer 1 [0, 16)"}},
    {plant_missing, {"MISSING: task 'half' (pass 0, number 4) is not in the timeline"}},
    {plant_missing_last, {"MISSING: task 'sum' (pass 0, number 6) is not in the timeline"}},
    {plant_duplicate, {"DUPLICATE: task 'half' (id 4, pass 0, number 3) is there twice", "MISSING: task 'half'"}},
    {plant_unknown, {"UNKNOWN: task 'sum' (id 6, pass 0, number 78) is not part of the stream", "MISSING: task 'sum'"}},
    {plant_other_pass, {"MISSING: task 'sum' (pass 0, number 6)"}},
    {plant_same_id, {"DUPLICATE: task", "have one id"}},
    {plant_bytes,
     {"ACCESS: task 'half' (id 4, pass 0, number 4), access 0 (buffer 2): read of 16 bytes, the stream says read of "
      "32"}},
    {plant_offset, {"ACCESS: task 'half'", "buffer 2: offset 0, the stream says 32"}},
    {plant_mode, {"ACCESS: task 'sum'", "write of 16 bytes, the stream says read_write of 16"}},
    {plant_count, {"ACCESS: task 'load'", "has 1 accesses, the stream says 2"}},
    {plant_number, {"ACCESS: task 'use'", "buffer 2 of the stream is number 55 here, 2 before"}},
    {plant_status, {"STATUS: task 'next' (id 5, pass 0, number 5) ended with WEIR_ERROR_CANCELLED"}},
    {plant_times, {"TIMES: task 'next'", "is submitted at 20, starts at 40 and ends at 39 ns"}},
    {plant_start_before_submit, {"TIMES: task 'next'", "is submitted at 41, starts at 40"}},
    {plant_host_wait,
     {"HOST_WAIT broken: task 'overwrite' (id 3, pass 0, number 3) is submitted at 19 ns, but the program waits for "
      "task "
      "'use' (id 2, pass 0, number 2), which ends at 20 ns"}},
    {plant_wait, {"WAIT broken: task 'use'", "waits (RAW) for task 'half'", "which ends at 40 ns"}},
    {plant_wait_for_nobody, {"WAIT: task 'use'", "with id 99, which is not in the timeline"}},
    {plant_dropped, {"the timeline has dropped 3 records"}},
};

static void test_planted(void **state) {
  (void)state;
  weir__stream *stream = stream_from(stream_text);
  for (size_t i = 0; i < sizeof all_planted / sizeof *all_planted; i++) {
    weir__timeline *timeline = make_correct(stream);
    weir__check_report report;
    if (check_as_json(timeline, stream, NULL, &report) != WEIR__CHECK_PROVED) fail_msg("%s", report.text);
    all_planted[i].plant(timeline);
    assert_int_equal(check_as_json(timeline, stream, NULL, &report), WEIR__CHECK_BROKEN);
    for (size_t k = 0; k < 4 && all_planted[i].texts[k]; k++) {
      if (!strstr(report.text, all_planted[i].texts[k])) {
        fail_msg("'%s' is not in '%s'", all_planted[i].texts[k], report.text);
      }
    }
    weir__timeline_destroy(timeline);
  }
  weir__stream_destroy(stream);
}

static void test_options(void **state) {
  (void)state;
  weir__stream *stream = stream_from(stream_text);
  weir__timeline *timeline = make_correct(stream);
  weir__check_report report;
  plant_host_wait(timeline);
  weir__check_options options = {.ignore_host_waits = true};
  assert_int_equal(check_as_json(timeline, stream, &options, &report), WEIR__CHECK_PROVED);
  options.passes = 1;
  assert_int_equal(check_as_json(timeline, stream, &options, &report), WEIR__CHECK_PROVED);
  options.passes = 2;
  assert_int_equal(check_as_json(timeline, stream, &options, &report), WEIR__CHECK_BROKEN);
  assert_non_null(strstr(report.text, "MISSING: task 'load' (pass 1, number 1)"));
  weir__timeline_destroy(timeline);

  schedule_options made = {.passes = 2, .workers = 1, .seed = 1};
  timeline = schedule(stream, &made);
  options = (weir__check_options){.passes = 1};
  assert_int_equal(check_as_json(timeline, stream, &options, &report), WEIR__CHECK_BROKEN);
  assert_non_null(strstr(report.text, "UNKNOWN: task 'load' (id 7, pass 1, number 1)"));
  options = (weir__check_options){.storage = WEIR__CHECK_STORAGE_KEPT};
  assert_int_equal(check_as_json(timeline, stream, &options, &report), WEIR__CHECK_BROKEN);
  assert_non_null(strstr(report.text, "buffer 2 of the stream is number"));
  weir__timeline_destroy(timeline);
  weir__stream_destroy(stream);
}

// Many findings: all are counted, the first are shown.
static void test_many_findings(void **state) {
  (void)state;
  weir__stream *stream = stream_from(stream_text);
  schedule_options options = {.passes = 100, .workers = 1, .seed = 1};
  weir__timeline *timeline = schedule(stream, &options);
  for (size_t i = 0; i < timeline->task_count; i++) strcpy(timeline->tasks[i].status, "WEIR_\\u001b[31m");
  weir__check_report report;
  assert_int_equal(check_as_json(timeline, stream, NULL, &report), WEIR__CHECK_BROKEN);
  assert_int_equal(report.broken, timeline->task_count);
  assert_non_null(strstr(report.text, "WEIR_?[31m"));
  size_t lines = 0;
  for (const char *c = report.text; *c; c++) lines += *c == '\n';
  assert_int_equal(lines, 16);
  weir__timeline_destroy(timeline);
  weir__stream_destroy(stream);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_planted), cmocka_unit_test(test_options),
                                     cmocka_unit_test(test_many_findings)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
