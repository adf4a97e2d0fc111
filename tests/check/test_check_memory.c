// SPDX-License-Identifier: Apache-2.0
//
// Memory runs out at the Nth allocation of a check, for every N: it says so, and nothing leaks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_malloc.h"
#include "schedule.h"

static void test_memory(void **state) {
  (void)state;
  stream_shape shape = {.tasks = 20, .buffers = 3, .most_bytes = 30};
  weir__stream *stream = random_stream(&shape, 1);
  schedule_options options = {.passes = 2, .workers = 2, .seed = 1, .rename = true};
  weir__timeline *made = schedule(stream, &options);
  char *text = timeline_text(made), message[300];
  weir__check_report report = {.result = WEIR__CHECK_BAD_INPUT};
  size_t n = 1;
  for (bool failed = true; failed && n < 100000; n++) {
    weir__timeline *timeline = NULL;
    failing_malloc_begin(n);
    weir_status status = weir__timeline_read_memory("f", text, strlen(text), message, sizeof message, &timeline);
    if (status == WEIR_OK) weir__check_timeline(timeline, stream, NULL, &report);
    failed = failing_malloc_end();
    if (status == WEIR_OK && report.result != WEIR__CHECK_PROVED) {
      assert_int_equal(report.result, WEIR__CHECK_BAD_INPUT);
      assert_string_equal(report.text, "out of memory\n");
    }
    if (status != WEIR_OK && !failing_malloc_of_parser()) assert_int_equal(status, WEIR_ERROR_OUT_OF_MEMORY);
    weir__timeline_destroy(timeline);
  }
  assert_int_equal(report.result, WEIR__CHECK_PROVED);
  assert_true(n > 100 && n < 100000);
  free(text);
  weir__timeline_destroy(made);
  weir__stream_destroy(stream);
}

#define SPAN(line, state, fields)                                                                                      \
  "{\"name\":\"s\",\"cat\":\"line\",\"ph\":\"X\",\"args\":{\"pipeline\":0,\"line\":" line ",\"state\":\"" state        \
  "\"," fields "}}"

static void test_memory_of_pipelines(void **state) {
  (void)state;
  static const char text[] =
      "{\"weir\":{\"version\":1,\"dropped\":0,\"pipelines\":[{\"id\":0,\"lines\":2,\"stages\":["
      "{\"name\":\"a\",\"serial\":true}]}]},\"traceEvents\":["
      "{\"name\":\"t\",\"cat\":\"task\",\"ph\":\"X\",\"args\":{\"id\":1,\"tag\":0,\"status\":\"WEIR_OK\",\"submit_ns\":"
      "0,"
      "\"ready_ns\":0,\"start_ns\":0,\"end_ns\":0,\"pipeline\":0,\"line\":0,\"stage\":0,\"token\":0,\"waits\":[],"
      "\"accesses\":["
      "{\"mode\":\"read\",\"buffer\":1,\"storage\":1,\"offset\":0,\"bytes\":8}]}}," SPAN(
          "0", "busy",
          "\"stage\":0,\"token\":0,\"start_ns\":1,\"end_ns\":2") "," SPAN("1", "free",
                                                                          "\"start_ns\":1,\"end_ns\":2") "]}";
  const weir__check_options options = {.lines_apart = true};
  char message[300];
  weir__check_report report = {.result = WEIR__CHECK_BAD_INPUT};
  size_t n = 1;
  for (bool failed = true; failed && n < 10000; n++) {
    weir__timeline *timeline = NULL;
    failing_malloc_begin(n);
    weir_status status = weir__timeline_read_memory("f", text, strlen(text), message, sizeof message, &timeline);
    if (status == WEIR_OK) weir__check_pipelines(timeline, &options, &report);
    failed = failing_malloc_end();
    if (status == WEIR_OK && report.result != WEIR__CHECK_PROVED) assert_string_equal(report.text, "out of memory\n");
    if (status != WEIR_OK && !failing_malloc_of_parser()) assert_int_equal(status, WEIR_ERROR_OUT_OF_MEMORY);
    weir__timeline_destroy(timeline);
  }
  assert_int_equal(report.result, WEIR__CHECK_PROVED);
  assert_true(n > 20 && n < 10000);
}

int main(void) {
  failing_malloc_use_parser();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory), cmocka_unit_test(test_memory_of_pipelines)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
