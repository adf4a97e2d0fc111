// SPDX-License-Identifier: Apache-2.0
//
// weir_why tells which bytes one task waited for, or by way of which others, or that it did not wait.
#include <stdio.h>
#include <string.h>

#include "api.h"

static char text[2048];

static void expect_why(weir_event *earlier, weir_event *later, const char *const *wanted) {
  assert_int_equal(weir_why(earlier, later, text, sizeof text), WEIR_OK);
  for (; *wanted != NULL; wanted++) {
    if (strstr(text, *wanted) == NULL) fail_msg("'%s' is not in '%s'", *wanted, text);
  }
}
#define WHY(earlier, later, ...) expect_why(earlier, later, (const char *const[]){__VA_ARGS__, NULL})

static weir_event *submit(weir_context *context, const char *label, const weir_arg *args, uint32_t count,
                          weir_event *after) {
  const weir_task task = {.host = api_nothing,
                          .label = label,
                          .args = args,
                          .arg_count = count,
                          .after = &after,
                          .after_count = after != NULL};
  weir_event *event = NULL;
  assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
  return event;
}

static void it_tells_hazard_buffer_and_bytes(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, WEIR_CONTEXT_TRACE | WEIR_CONTEXT_NO_RENAME);
  weir_buffer *a = api_buffer(context, 64, "alpha"), *b = api_buffer(context, 64, "beta");
  gate door = {0};
  weir_event *held = NULL;
  assert_int_equal(gate_submit(context, &door, NULL, 0, &held), WEIR_OK);
  gate_await(&door, 1);
  weir_event *write = submit(context, "write", (weir_arg[]){weir_writes_range(a, 0, 32)}, 1, NULL);
  weir_event *read = submit(context, "read", (weir_arg[]){weir_reads_range(a, 16, 32), weir_writes(b)}, 2, NULL);
  weir_event *again = submit(context, "again", (weir_arg[]){weir_writes_range(a, 24, 8)}, 1, NULL);
  weir_event *over = submit(context, "over", (weir_arg[]){weir_writes_range(a, 0, 8)}, 1, NULL);
  weir_event *alone = submit(context, "alone", NULL, 0, NULL);
  weir_event *after = submit(context, "after", NULL, 0, alone);
  WHY(write, read,
      "task 3 'read' waited for task 2 'write': it reads bytes [16, 32) of buffer 1 'alpha', which task 2 "
      "'write' writes (RAW)");
  WHY(read, again, "it overwrites bytes [24, 32) of buffer 1 'alpha', which task 3 'read' reads (WAR)");
  WHY(write, over, "it overwrites bytes [0, 8) of buffer 1 'alpha', which task 2 'write' writes (WAW)");
  WHY(alone, after, "it was to come after task 6 'alone' (AFTER)");
  WHY(write, again, "task 4 'again' waited for task 2 'write' by way of 1 other: it overwrites bytes [24, 32)",
      "; task 3 'read' reads bytes [16, 32) of buffer 1 'alpha', which task 2 'write' writes (RAW)");
  WHY(read, alone,
      "task 6 'alone' did not wait for task 3 'read': no byte that one of them writes is used by the other");
  WHY(again, write, "did not wait for task 4 'again', which was submitted later");
  WHY(write, write, "they are one task");
  gate_open(&door);
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_event *late = submit(context, "late", (weir_arg[]){weir_reads(a)}, 1, NULL);
  WHY(write, late,
      "task 8 'late' did not wait for task 2 'write': it reads bytes [0, 32) of buffer 1 'alpha', "
      "which task 2 'write' writes, but that was done already");
  char short_text[20];
  assert_int_equal(weir_why(write, read, short_text, sizeof short_text), WEIR_OK);
  assert_int_equal(strlen(short_text), 19);
  weir_trace_clear(context);
  api_expect(weir_why(write, read, text, sizeof text), WEIR_ERROR_UNAVAILABLE, "cleared", NULL);
  assert_string_equal(text, "");
  weir_event *events[] = {held, write, read, again, over, alone, after, late};
  for (int i = 0; i < 8; i++) weir_event_release(events[i]);
  weir_context_release(context);
}

static void a_renamed_buffer_is_told(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, WEIR_CONTEXT_TRACE);
  weir_buffer *a = api_buffer(context, 64, "alpha");
  gate door = {0};
  weir_event *held = NULL;
  const weir_arg reads[] = {weir_updates(a)};
  assert_int_equal(gate_submit(context, &door, reads, 1, &held), WEIR_OK);
  weir_event *write = submit(context, "write", (weir_arg[]){weir_writes(a)}, 1, NULL);
  assert_int_equal(weir_event_wait(write, WEIR_FOREVER), WEIR_OK);
  WHY(held, write,
      "it overwrites bytes [0, 64) of buffer 1 'alpha', which task 1 'gate' writes, but the buffer was renamed");
  gate_open(&door);
  weir_event_release(held);
  weir_event_release(write);
  weir_context_release(context);
}

static void long_chains_are_cut(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, WEIR_CONTEXT_TRACE);
  weir_buffer *a = api_buffer(context, 64, "alpha");
  gate door = {0};
  weir_event *first = NULL, *last = NULL;
  assert_int_equal(gate_submit(context, &door, (weir_arg[]){weir_updates(a)}, 1, &first), WEIR_OK);
  for (int i = 0; i < 100; i++) {
    weir_event_release(last);
    last = submit(context, "step", (weir_arg[]){weir_updates(a)}, 1, NULL);
  }
  WHY(first, last, "task 101 'step' waited for task 1 'gate' by way of 99 others: it reads",
      "; ...; task 2 'step' reads", ", which task 1 'gate' writes (RAW)");
  gate_open(&door);
  weir_event_release(first);
  weir_event_release(last);
  weir_context_release(context);
}

static void misuse_is_refused(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0), *other = api_context("cpu:1", 0, WEIR_CONTEXT_TRACE);
  weir_event *one = submit(context, "one", NULL, 0, NULL), *two = submit(other, "two", NULL, 0, NULL);
  api_expect(weir_why(one, one, text, sizeof text), WEIR_ERROR_INVALID_ARGUMENT, "WEIR_CONTEXT_TRACE", "WEIR_TRACE",
             NULL);
  api_expect(weir_why(two, one, text, sizeof text), WEIR_ERROR_INVALID_ARGUMENT, "another context", NULL);
  api_expect(weir_why(two, NULL, text, sizeof text), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_why(two, two, NULL, 5), WEIR_ERROR_INVALID_ARGUMENT, "NULL", NULL);
  api_expect(weir_why(two, two, text, 0), WEIR_ERROR_INVALID_ARGUMENT, "0 bytes", NULL);
  weir_event_release(one);
  weir_event_release(two);
  weir_context_release(context);
  weir_context_release(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_tells_hazard_buffer_and_bytes),
      cmocka_unit_test(a_renamed_buffer_is_told),
      cmocka_unit_test(long_chains_are_cut),
      cmocka_unit_test(misuse_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
