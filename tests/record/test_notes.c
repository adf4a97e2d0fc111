// SPDX-License-Identifier: Apache-2.0
//
// What a library for several ranks notes in a timeline (weir/trace.h), and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/external.h"
#include "weir/trace.h"

static void nothing(const weir_work *work) {
  (void)work;
}

static weir_event *submit(weir_context *context, const weir_arg *arg) {
  const weir_task task = {.host = nothing, .args = arg, .arg_count = 1, .label = "t"};
  weir_event *event = NULL;
  assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
  return event;
}

static weir_context *create(uint32_t flags) {
  weir_context *context = NULL;
  const weir_context_options options = {.devices = "cpu:1", .flags = flags};
  assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
  return context;
}

static char *save(weir_context *context) {
  static char text[8192];
  char path[] = "/tmp/weir-notes-XXXXXX.json";
  int file = mkstemps(path, 5);
  assert_true(file >= 0);
  assert_int_equal(weir_trace_save(context, path, "notes"), WEIR_OK);
  ssize_t length = read(file, text, sizeof text - 1);
  assert_true(length > 0);
  text[length] = '\0';
  close(file);
  unlink(path);
  return text;
}

static void test_noted(void **state) {
  (void)state;
  weir_context *context = create(WEIR_CONTEXT_TRACE);
  weir_buffer *buffer;
  weir_buffer_create(context, 64, &buffer);
  const weir_arg write = weir_writes(buffer), read = weir_reads(buffer);
  weir_event *events[] = {submit(context, &write), submit(context, &read), submit(context, &write)};
  assert_int_equal(weir_trace_note_rank(context, 1, 3, -5, 7), WEIR_OK);
  assert_int_equal(weir_trace_note_buffer(buffer, 12), WEIR_OK);
  assert_int_equal(weir_trace_note_call(events[0], 13), WEIR_OK);
  assert_int_equal(weir_trace_note_send(events[1], 14, 2, 5), WEIR_OK);
  assert_int_equal(weir_trace_note_receive(events[2], 15, 0, 6), WEIR_OK);
  assert_int_equal(weir_trace_note_written(buffer, 16, 8, 4), WEIR_OK);
  const char *text = save(context);
  assert_non_null(strstr(text, "\"rank\":{\"number\":1,\"of\":3,\"zero_ns\":"));
  assert_non_null(strstr(text, ",\"error_ns\":7}"));
  assert_non_null(
      strstr(text, "\"call\":13,\"accesses\":[{\"mode\":\"write\",\"buffer\":1,\"label\":\"\",\"shared\":12"));
  assert_non_null(strstr(text, "\"call\":14,\"send\":{\"to\":2,\"number\":5}"));
  assert_non_null(strstr(text, "\"call\":15,\"receive\":{\"from\":0,\"number\":6}"));
  assert_non_null(strstr(text, "\"args\":{\"call\":16,\"buffer\":1,\"shared\":12,\"offset\":8,\"bytes\":4}"));
  weir_trace_clear(context); // who it is stays
  text = save(context);
  assert_non_null(strstr(text, "\"rank\":{\"number\":1,\"of\":3"));
  assert_null(strstr(text, "written"));
  for (int i = 0; i < 3; i++) weir_event_release(events[i]);
  weir_context_release(context);
}

// A clock that began after rank 0's, by more than it shows.
static void test_offset(void **state) {
  (void)state;
  weir_context *context = create(WEIR_CONTEXT_TRACE);
  assert_int_equal(weir_trace_note_rank(context, 0, 2, INT64_MIN, 0), WEIR_OK);
  assert_non_null(strstr(save(context), "\"zero_ns\":0,"));
  weir_context_release(context);
}

static void test_refused(void **state) {
  (void)state;
  for (int traces = 0; traces < 2; traces++) {
    weir_context *context = create(traces ? WEIR_CONTEXT_TRACE : 0);
    weir_buffer *buffer;
    weir_buffer_create(context, 64, &buffer);
    const weir_arg write = weir_writes(buffer);
    weir_event *event = submit(context, &write), *external = NULL;
    weir_status expected = traces ? WEIR_OK : WEIR_ERROR_INVALID_ARGUMENT;
    assert_int_equal(weir_trace_note_rank(context, 0, 1, 0, 0), expected);
    assert_int_equal(weir_trace_note_buffer(buffer, 1), expected);
    assert_int_equal(weir_trace_note_call(event, 1), expected);
    assert_int_equal(weir_trace_note_written(buffer, 1, 0, 1), expected);
    if (!traces) assert_non_null(strstr(weir_last_error(), "without WEIR_CONTEXT_TRACE"));
    assert_int_equal(weir_trace_note_rank(context, 2, 2, 0, 0), WEIR_ERROR_INVALID_ARGUMENT);
    assert_int_equal(weir_trace_note_rank(NULL, 0, 2, 0, 0), WEIR_ERROR_INVALID_ARGUMENT);
    assert_int_equal(weir_trace_note_buffer(NULL, 1), WEIR_ERROR_INVALID_ARGUMENT);
    assert_int_equal(weir_trace_note_call(NULL, 1), WEIR_ERROR_INVALID_ARGUMENT);
    weir_host_event_create(context, "outside", &external);
    assert_int_equal(weir_trace_note_send(external, 1, 0, 0), WEIR_ERROR_INVALID_ARGUMENT);
    weir_host_event_signal(external, WEIR_OK);
    weir_event_release(external);
    weir_event_release(event);
    weir_context_release(context);
  }
}

int main(void) {
  unsetenv("WEIR_TRACE");
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_noted), cmocka_unit_test(test_offset),
                                     cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
