// SPDX-License-Identifier: Apache-2.0
//
// Failure is data: what a failed task should have written is poisoned, byte by byte, until it is overwritten.
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "base/allocate.h"

static weir_context *context;
static weir_kernel *good, *bad;
static weir_buffer *a, *b; // of 100 bytes, all written

static int set_up(void **state) {
  static const char zeros[100];
  (void)state;
  context = api_context("cpu:2", 0, 0);
  good = api_kernel(context, "good", api_nothing);
  bad = api_kernel(context, "bad", api_fail);
  a = api_buffer(context, 100, "a");
  b = api_buffer(context, 100, "b");
  assert_int_equal(weir_copy_in(a, 0, 100, zeros, NULL), WEIR_OK);
  assert_int_equal(weir_copy_in(b, 0, 100, zeros, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  weir_context_release(context);
  return 0;
}

static weir_status run(weir_kernel *kernel, weir_arg first, weir_arg second) {
  const weir_arg args[] = {first, second};
  return api_await(api_submit(context, kernel, args, 2));
}

static weir_status run_one(weir_kernel *kernel, weir_arg arg) {
  return api_await(api_submit(context, kernel, &arg, 1));
}

// Which of the bytes of a buffer are poisoned, as runs: "10-20 30-31".
static void expect_poison(weir_buffer *buffer, const char *wanted) {
  char found[1000] = "", byte;
  uint64_t start = UINT64_MAX;
  for (uint64_t i = 0; i <= 100; i++) {
    bool poisoned = i < 100 && api_read(buffer, i, 1, &byte) == WEIR_ERROR_UPSTREAM_FAILED;
    if (poisoned && start == UINT64_MAX) start = i;
    if (poisoned || start == UINT64_MAX) continue;
    snprintf(found + strlen(found), sizeof found - strlen(found), "%s%d-%d", found[0] == '\0' ? "" : " ", (int)start,
             (int)i);
    start = UINT64_MAX;
  }
  assert_string_equal(found, wanted);
}

static void fail_without_memory(const weir_work *work) {
  weir__allocate_fail_at(1);
  weir_work_fail(work, "as told");
}

// Where there is none to note why.
static void poison_needs_no_memory(void **state) {
  (void)state;
  weir_kernel *kernel = api_kernel(context, "short of memory", fail_without_memory);
  assert_int_equal(run_one(kernel, weir_writes(a)), WEIR_ERROR_TASK_FAILED);
  weir__allocate_fail_at(0);
  assert_int_equal(run_one(good, weir_reads_range(a, 10, 20)), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(run(good, weir_reads(a), weir_writes(b)), WEIR_ERROR_UPSTREAM_FAILED);
}

static void failed_task_poisons_what_it_writes(void **state) {
  (void)state;
  assert_int_equal(run(bad, weir_reads(a), weir_writes_range(b, 10, 20)), WEIR_ERROR_TASK_FAILED);
  expect_poison(a, "");
  expect_poison(b, "10-30");
  assert_int_equal(run_one(bad, weir_updates_range(b, 50, 1)), WEIR_ERROR_TASK_FAILED);
  expect_poison(b, "10-30 50-51");
}

static void poison_spreads_to_readers(void **state) {
  (void)state;
  assert_int_equal(run_one(bad, weir_writes_range(a, 10, 20)), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(run(good, weir_reads_range(a, 0, 10), weir_updates_range(b, 0, 5)), WEIR_OK);
  assert_int_equal(run(good, weir_reads_range(a, 29, 10), weir_writes_range(b, 5, 5)), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(run(good, weir_reads_range(a, 30, 70), weir_writes_range(b, 20, 5)), WEIR_OK);
  expect_poison(b, "5-10");
  assert_int_equal(weir_copy(b, 60, a, 25, 10, NULL), WEIR_OK);
  expect_poison(b, "5-10 60-70");
}

static void update_of_poison_is_skipped_and_poisons_all_it_writes(void **state) {
  (void)state;
  assert_int_equal(run_one(bad, weir_writes_range(a, 40, 1)), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(run(good, weir_updates_range(a, 30, 20), weir_writes_range(b, 90, 10)), WEIR_ERROR_UPSTREAM_FAILED);
  expect_poison(a, "30-50");
  expect_poison(b, "90-100");
}

static void overwriting_heals(void **state) {
  (void)state;
  assert_int_equal(run_one(bad, weir_writes_range(a, 10, 20)), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(run_one(good, weir_writes_range(a, 15, 5)), WEIR_OK);
  expect_poison(a, "10-15 20-30");
  char bytes[12] = "";
  assert_int_equal(weir_copy_in(a, 20, 12, bytes, NULL), WEIR_OK);
  expect_poison(a, "10-15");
  assert_int_equal(run_one(bad, weir_updates(b)), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(weir_copy(a, 0, b, 0, 100, NULL), WEIR_OK);
  expect_poison(a, "0-100");
  assert_int_equal(run_one(good, weir_writes(a)), WEIR_OK);
  expect_poison(a, "");
}

// The same while everything is still in flight.
static void poison_follows_submission_order_in_flight(void **state) {
  (void)state;
  for (int whole = 0; whole < 2; whole++) {
    gate door = {0};
    uint64_t size = whole ? 100 : 50;
    weir_arg write = weir_writes_range(a, 0, size), read = weir_reads_range(a, 0, size);
    weir_arg update = weir_updates_range(a, 0, size);
    weir_event *held = NULL;
    assert_int_equal(gate_submit(context, &door, &update, 1, &held), WEIR_OK);
    weir_event *events[] = {
        api_submit(context, bad, &update, 1),  api_submit(context, good, &read, 1),
        api_submit(context, good, &update, 1), api_submit(context, good, &write, 1),
        api_submit(context, good, &read, 1),   api_submit(context, good, &update, 1),
        api_submit(context, bad, &write, 1),   api_submit(context, good, &read, 1),
    };
    static const weir_status wanted[] = {
        WEIR_ERROR_TASK_FAILED, WEIR_ERROR_UPSTREAM_FAILED, WEIR_ERROR_UPSTREAM_FAILED, WEIR_OK, WEIR_OK, WEIR_OK,
        WEIR_ERROR_TASK_FAILED, WEIR_ERROR_UPSTREAM_FAILED};
    gate_open(&door);
    for (int i = 0; i < 8; i++) assert_int_equal(api_await(events[i]), wanted[i]);
    assert_int_equal(api_await(held), WEIR_OK);
    expect_poison(a, whole ? "0-100" : "0-50");
    assert_int_equal(run_one(good, weir_writes(a)), WEIR_OK);
  }
}

static void skipped_task_names_itself(void **state) {
  (void)state;
  assert_int_equal(run_one(bad, weir_updates(a)), WEIR_ERROR_TASK_FAILED);
  weir_arg arg = weir_reads(a);
  weir_event *event = api_submit(context, good, &arg, 1);
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
  assert_non_null(strstr(weir_event_message(event), "good"));
  weir_event_release(event);
}

static void failed_copy_leaves_the_destination_alone(void **state) {
  (void)state;
  char bytes[100];
  memset(bytes, 7, sizeof bytes);
  assert_int_equal(run_one(bad, weir_updates_range(a, 99, 1)), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(api_read(a, 0, 100, bytes), WEIR_ERROR_UPSTREAM_FAILED);
  for (int i = 0; i < 100; i++) assert_int_equal(bytes[i], 7);
  assert_int_equal(api_read(a, 0, 99, bytes), WEIR_OK);
}

static void fail_in_last_group(const weir_work *work) {
  if (work->end == 1000) weir_work_fail(work, "the last");
}

static void one_failing_group_fails_the_launch(void **state) {
  (void)state;
  weir_kernel *kernel = api_kernel(context, "parts", fail_in_last_group);
  weir_arg arg = weir_updates(a);
  weir_task task = {.kernel = kernel, .args = &arg, .arg_count = 1, .groups = {1000, 1, 1}};
  weir_event *event = NULL;
  for (int i = 0; i < 20; i++) {
    assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
    assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
    assert_non_null(strstr(weir_event_message(event), "the last"));
    weir_event_release(event);
    assert_int_equal(run_one(good, weir_writes(a)), WEIR_OK);
  }
}

static void poison_of_a_released_buffer_is_forgotten(void **state) {
  (void)state;
  for (int i = 0; i < 2000; i++) {
    weir_buffer *buffer = api_buffer(context, 64, NULL);
    weir_arg arg = weir_writes(buffer);
    weir_event_release(api_submit(context, i % 2 == 0 ? bad : good, &arg, 1));
    arg = weir_reads(buffer);
    weir_event *event = api_submit(context, good, &arg, 1);
    weir_buffer_release(buffer);
    assert_int_equal(api_await(event), i % 2 == 0 ? WEIR_ERROR_UPSTREAM_FAILED : WEIR_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(failed_task_poisons_what_it_writes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(poison_needs_no_memory, set_up, tear_down),
      cmocka_unit_test_setup_teardown(poison_spreads_to_readers, set_up, tear_down),
      cmocka_unit_test_setup_teardown(update_of_poison_is_skipped_and_poisons_all_it_writes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(overwriting_heals, set_up, tear_down),
      cmocka_unit_test_setup_teardown(poison_follows_submission_order_in_flight, set_up, tear_down),
      cmocka_unit_test_setup_teardown(skipped_task_names_itself, set_up, tear_down),
      cmocka_unit_test_setup_teardown(failed_copy_leaves_the_destination_alone, set_up, tear_down),
      cmocka_unit_test_setup_teardown(one_failing_group_fails_the_launch, set_up, tear_down),
      cmocka_unit_test_setup_teardown(poison_of_a_released_buffer_is_forgotten, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
