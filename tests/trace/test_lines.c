// SPDX-License-Identifier: Apache-2.0
//
// What lines of pipelines did: kept, cut, cleared, dropped for want of memory and counted, and written.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "trace/lines.h"

static const weir__trace_stage stages[] = {{"read", true}, {"", false}, {"deliver", true}};

static weir__trace_pipeline *add_pipeline(weir__trace *trace) {
  weir__trace_pipeline *pipeline = weir__trace_add_pipeline(trace, stages, 3, 2);
  assert_non_null(pipeline);
  return pipeline;
}

// `count` spans of ten nanoseconds, and one that is not over.
static void fill(weir__trace_line *line, uint64_t count) {
  for (uint64_t i = 0; i <= count; i++) {
    weir__trace_line_span span = {.start_ns = 10 * i, .token = i, .has_token = true, .doing = WEIR__TRACE_TASKS};
    weir__trace_line_begin(line, &span, true);
  }
}

static void keeps_all(void **state) {
  (void)state;
  const uint64_t counts[] = {0, 1, 255, 256, 257, 512, 1000};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    weir__trace *trace = weir__trace_create();
    weir__trace_pipeline *pipeline = add_pipeline(trace);
    weir__trace_line *line = weir__trace_line_at(pipeline, 1);
    fill(line, counts[c]);
    weir__trace_line_reader reader;
    weir__trace_line_span span;
    weir__trace_line_read(line, 5, &reader);
    for (uint64_t i = 0; i < counts[c]; i++) {
      assert_true(weir__trace_line_next(&reader, &span));
      assert_false(reader.span_is_open);
      assert_int_equal(span.token, i);
      assert_int_equal(span.end_ns, 10 * i + 10);
    }
    assert_true(weir__trace_line_next(&reader, &span));
    assert_true(reader.span_is_open);
    assert_int_equal(span.start_ns, 10 * counts[c]);
    assert_int_equal(span.end_ns, counts[c] == 0 ? 5 : span.start_ns); // not before its start
    assert_false(weir__trace_line_next(&reader, &span));
    weir__trace_destroy(trace);
  }
}

static void forgets_what_is_not_to_be_kept(void **state) {
  (void)state;
  weir__trace *trace = weir__trace_create();
  weir__trace_line *line = weir__trace_line_at(add_pipeline(trace), 0);
  weir__trace_line_begin(line, &(weir__trace_line_span){.start_ns = 1, .doing = WEIR__TRACE_TURN}, true);
  weir__trace_line_begin(line, &(weir__trace_line_span){.start_ns = 2, .has_token = true}, false);
  weir__trace_line_end(line, 5, false); // it was no token
  weir__trace_line_begin(line, &(weir__trace_line_span){.start_ns = 6, .doing = WEIR__TRACE_FREE}, true);
  weir__trace_line_reader reader;
  weir__trace_line_span span;
  weir__trace_line_read(line, 9, &reader);
  assert_true(weir__trace_line_next(&reader, &span));
  assert_int_equal(span.start_ns, 2);
  assert_int_equal(span.end_ns, 5);
  assert_false(span.has_token);
  assert_false(weir__trace_line_next(&reader, &span)); // a line that is free now does nothing
  weir__trace_destroy(trace);
}

static void clears(void **state) {
  (void)state;
  weir__trace *trace = weir__trace_create();
  weir__trace_pipeline *first = add_pipeline(trace), *second = add_pipeline(trace);
  assert_int_equal(first->id, 0);
  assert_int_equal(second->id, 1);
  fill(weir__trace_line_at(first, 0), 300);
  fill(weir__trace_line_at(second, 0), 300);
  weir__trace_release_pipeline(first);
  weir__trace_clear(trace);
  weir__trace_line_reader reader;
  weir__trace_line_span span;
  weir__trace_line_read(weir__trace_line_at(second, 0), 4000, &reader);
  assert_true(weir__trace_line_next(&reader, &span)); // what it does at present
  assert_int_equal(span.start_ns, 3000);
  assert_false(weir__trace_line_next(&reader, &span));
  assert_int_equal(add_pipeline(trace)->id, 2);
  weir__trace_destroy(trace);
}

// Whichever allocation fails, what is there is whole, and what is not there was counted.
static void counts_what_it_drops(void **state) {
  (void)state;
  enum { SPANS = 600 };
  for (uint64_t n = 1;; n++) {
    weir__trace *trace = weir__trace_create();
    weir__allocate_fail_at(n);
    weir__trace_pipeline *pipeline = weir__trace_add_pipeline(trace, stages, 3, 2);
    uint64_t kept = 0;
    if (pipeline != NULL) {
      fill(weir__trace_line_at(pipeline, 0), SPANS);
      weir__trace_line_reader reader;
      weir__trace_line_span span;
      weir__trace_line_read(weir__trace_line_at(pipeline, 0), 0, &reader);
      while (weir__trace_line_next(&reader, &span)) kept += !reader.span_is_open;
    }
    weir__allocate_fail_at(0);
    assert_int_equal(kept + weir__trace_dropped(trace), pipeline != NULL ? SPANS : 1);
    bool failed = weir__trace_dropped(trace) > 0;
    weir__trace_clear(trace);
    assert_int_equal(weir__trace_dropped(trace), 0);
    weir__trace_destroy(trace);
    if (!failed) break;
  }
}

static char *save_and_read(const weir__trace *trace, const char *ending) {
  char path[64], message[128] = "";
  snprintf(path, sizeof path, "/tmp/weir-test-XXXXXX%s", ending);
  int file = mkstemps(path, (int)strlen(ending));
  assert_true(file >= 0);
  close(file);
  if (weir__trace_save(trace, path, "t", message, sizeof message) != WEIR_OK) fail_msg("%s", message);
  FILE *saved = fopen(path, "r");
  assert_non_null(saved);
  char *text = calloc(1, 1 << 20);
  assert_non_null(text);
  assert_true(fread(text, 1, (1 << 20) - 1, saved) > 0);
  fclose(saved);
  unlink(path);
  return text;
}

static weir__trace *small_trace(void) {
  weir__trace *trace = weir__trace_create();
  assert_true(weir__trace_add_device(trace, "cpu:1", 1));
  weir__trace_task task = {.id = 1, .label = "t", .kernel = "k", .done = true, .end_ns = 5, .has_origin = true};
  task.origin = (weir__trace_origin){.pipeline = 0, .line = 1, .stage = 1, .token = 12};
  weir__trace_add_task(trace, &task);
  weir__trace_line *line = weir__trace_line_at(add_pipeline(trace), 1);
  const weir__trace_line_span spans[] = {
      {.start_ns = 0, .doing = WEIR__TRACE_FREE},
      {.start_ns = 1000, .token = 12, .has_token = true, .doing = WEIR__TRACE_BUSY, .stage = 1},
      {.start_ns = 2500, .token = 12, .has_token = true, .doing = WEIR__TRACE_TURN, .stage = 2}};
  for (int i = 0; i < 3; i++) weir__trace_line_begin(line, &spans[i], true);
  weir__trace_set_now(trace, 3000);
  return trace;
}

static void writes_this_json(void **state) {
  (void)state;
  weir__trace *trace = small_trace();
  char *text = save_and_read(trace, ".json");
  assert_string_equal(
      text,
      "{\"displayTimeUnit\":\"ns\",\"weir\":{\"version\":1,\"title\":\"t\",\"dropped\":0,\"devices\":[{\"name\":"
      "\"cpu:1\",\"lanes\":1,\"lane\":\"worker\"}],\"pipelines\":[{\"id\":0,\"lines\":2,\"stages\":["
      "{\"name\":\"read\",\"serial\":true},"
      "{\"name\":\"\",\"serial\":false},{\"name\":\"deliver\",\"serial\":true}]}]},\"traceEvents\":[\n"
      "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"tid\":0,\"args\":{\"name\":\"cpu:1\"}},\n"
      "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":0,\"args\":{\"name\":\"worker 0\"}},\n"
      "{\"name\":\"t\",\"cat\":\"task\",\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":0.000,\"dur\":0.005,\"args\":{\"id\":1,"
      "\"tag\":0,\"status\":\"WEIR_OK\",\"kernel\":\"k\",\"submit_ns\":0,\"ready_ns\":0,\"start_ns\":0,\"end_ns\":5,"
      "\"pipeline\":0,\"line\":1,\"stage\":1,\"token\":12,\"accesses\":[],\"waits\":[]}},\n"
      "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"pipeline 0\"}},\n"
      "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"line 0\"}},\n"
      "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"line 1\"}},\n"
      "{\"name\":\"no token\",\"cat\":\"line\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":0.000,\"dur\":1.000,\"args\":{"
      "\"pipeline\":0,\"line\":1,\"state\":\"free\",\"start_ns\":0,\"end_ns\":1000}},\n"
      "{\"name\":\"stage 1\",\"cat\":\"line\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1.000,\"dur\":1.500,\"args\":{"
      "\"pipeline\":0,\"line\":1,\"state\":\"busy\",\"stage\":1,\"token\":12,\"start_ns\":1000,\"end_ns\":2500}},\n"
      "{\"name\":\"waits for its turn\",\"cat\":\"line\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":2.500,\"dur\":0.500,"
      "\"args\":{\"pipeline\":0,\"line\":1,\"state\":\"turn\",\"stage\":2,\"token\":12,\"start_ns\":2500,"
      "\"end_ns\":3000,\"open\":true}}\n"
      "]}\n");
  free(text);
  weir__trace_destroy(trace);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keeps_all),        cmocka_unit_test(forgets_what_is_not_to_be_kept),
      cmocka_unit_test(clears),           cmocka_unit_test(counts_what_it_drops),
      cmocka_unit_test(writes_this_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
