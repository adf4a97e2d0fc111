// SPDX-License-Identifier: Apache-2.0
//
// Correct timelines are proved, whatever order the tasks ran in.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "schedule.h"

static void assert_proved(const weir__timeline *timeline, const weir__stream *stream, weir__check_storage storage) {
  weir__check_report report;
  weir__check_options options = {.storage = storage};
  if (check_as_json(timeline, stream, &options, &report) != WEIR__CHECK_PROVED) fail_msg("%s", report.text);
  assert_int_equal(report.tasks, timeline->task_count);
  assert_int_equal(report.accesses, timeline->access_count);
  assert_int_equal(report.broken, 0);
  assert_string_equal(report.text, "");
}

static void check_all_ways(const weir__stream *stream, uint32_t passes, uint64_t seed) {
  for (uint32_t way = 0; way < 8; way++) {
    schedule_options options = {.passes = passes, .workers = way & 1 ? 5 : 1, .seed = seed + way};
    options.rename = (way & 2) != 0;
    options.by_address = way >= 6;
    options.kept = way >= 4 && way < 6;
    weir__timeline *timeline = schedule(stream, &options);
    assert_proved(timeline, stream, WEIR__CHECK_STORAGE_DERIVE);
    if (!options.kept) assert_proved(timeline, stream, WEIR__CHECK_STORAGE_FRESH);
    if (options.kept) assert_proved(timeline, stream, WEIR__CHECK_STORAGE_KEPT);
    weir__timeline_destroy(timeline);
  }
}

static void test_random_streams(void **state) {
  (void)state;
  uint64_t seed = random_seed(1);
  for (int round = 0; round < 150; round++) {
    stream_shape shape = {.tasks = (uint32_t)random_in(&seed, 1, 40), .buffers = (uint32_t)random_in(&seed, 1, 6)};
    shape.most_bytes = random_in(&seed, 1, 30);
    shape.host_waits = round % 2 != 0;
    weir__stream *stream = random_stream(&shape, random_next(&seed));
    check_all_ways(stream, (uint32_t)random_in(&seed, 1, 4), random_next(&seed));
    weir__stream_destroy(stream);
  }
}

static void test_sample_streams(void **state) {
  (void)state;
  static const char *const names[] = {"condconv_b0",  "dynroute_a.0", "dynroute_a.1", "dynroute_a.2", "hrnet_w18",
                                      "inception_v3", "nasnetalarge", "randwire",     "squeezenet"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[100], message[300];
    weir__stream *stream = NULL;
    snprintf(path, sizeof path, "examples/streams/%s.jsonl", names[i]);
    if (weir__stream_read(path, message, sizeof message, &stream) != WEIR_OK) fail_msg("%s", message);
    for (uint32_t way = 0; way < 3; way++) {
#ifdef WEIR_SMALL_TESTS
      if (way != i % 3) continue;
#endif
      schedule_options options = {.passes = stream->task_count > 1000 ? 1 : 2, .workers = 8, .seed = i, .rename = true};
      options.by_address = way == 1;
      options.kept = way == 2;
      weir__timeline *timeline = schedule(stream, &options);
      assert_proved(timeline, stream, WEIR__CHECK_STORAGE_DERIVE);
      weir__timeline_destroy(timeline);
    }
    weir__stream_destroy(stream);
  }
}

// A scheduler may give a storage first to the later of two buffers: nothing that the program can see depends on it.
static void test_storage_against_program_order(void **state) {
  (void)state;
  weir__stream *stream =
      stream_from("{\"weir_stream\":1,\"name\":\"s\",\"sms\":1,\"tasks\":4}\n"
                  "{\"buffer\":1,\"bytes\":8,\"address\":0}\n"
                  "{\"op\":\"a\",\"reads\":[],\"writes\":[[1,0,8]],\"kernels\":[]}\n"
                  "{\"op\":\"b\",\"reads\":[[1,0,8]],\"writes\":[],\"kernels\":[]}\n"
                  "{\"free\":[1]}\n{\"buffer\":2,\"bytes\":8,\"address\":0}\n"
                  "{\"op\":\"c\",\"reads\":[],\"writes\":[[2,0,8]],\"kernels\":[]}\n"
                  "{\"op\":\"d\",\"reads\":[[2,0,8]],\"writes\":[],\"kernels\":[]}\n{\"free\":[2]}\n");
  schedule_options options = {.passes = 1, .workers = 1, .seed = 1};
  weir__timeline *timeline = schedule(stream, &options);
  static const uint64_t starts[] = {100, 110, 0, 10};
  for (size_t i = 0; i < 4; i++) {
    timeline->accesses[i].storage = 7;
    timeline->tasks[i].submit_ns = 0;
    timeline->tasks[i].start_ns = starts[i];
    timeline->tasks[i].end_ns = starts[i] + 10;
  }
  assert_proved(timeline, stream, WEIR__CHECK_STORAGE_DERIVE);
  weir__timeline_destroy(timeline);
  weir__stream_destroy(stream);
}

static void test_stream_without_tasks(void **state) {
  (void)state;
  weir__stream *stream = stream_from("{\"weir_stream\":1,\"name\":\"s\",\"sms\":1,\"tasks\":0}\n");
  weir__timeline empty = {0};
  assert_proved(&empty, stream, WEIR__CHECK_STORAGE_DERIVE);
  weir__stream_destroy(stream);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_streams), cmocka_unit_test(test_sample_streams),
                                     cmocka_unit_test(test_storage_against_program_order),
                                     cmocka_unit_test(test_stream_without_tasks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
