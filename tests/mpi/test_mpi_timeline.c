// SPDX-License-Identifier: Apache-2.0
//
// Timelines of ranks whose clocks differ become one, in which each message goes forward in time, and which the checker
// proves. Without one of the messages that a task needs, it does not.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "joined.h"

enum { RANKS = 3 };
static const int64_t SKEW_NS = 1000000000000;

static void check_messages(const weir__timeline *timeline) {
  size_t sends = 0, receives = 0;
  for (size_t i = 0; i < timeline->task_count; i++) {
    const weir__timeline_task *task = &timeline->tasks[i];
    sends += task->call.direction == WEIR__TIMELINE_SENDS;
    if (task->call.direction != WEIR__TIMELINE_RECEIVES) continue;
    const weir__timeline_task *send = joined_send(timeline, task);
    receives++;
    assert_non_null(send);
    assert_int_equal(send->call.number, task->call.number);
    assert_int_equal(send->call.peer, task->id / WEIR__TIMELINE_RANK_IDS);
    assert_int_equal(task->call.peer, send->id / WEIR__TIMELINE_RANK_IDS);
    uint64_t error = timeline->ranks[send->call.peer].error_ns + timeline->ranks[task->call.peer].error_ns;
    assert_true(send->end_ns <= task->start_ns + error);
  }
  assert_int_equal(sends, receives);
  assert_true(receives > 0);
}

static weir__check_result check(const weir__timeline *timeline, weir__check_report *report) {
  return weir__check_ranks_alone(timeline, NULL, report);
}

static bool is_made(const weir__timeline *timeline, uint64_t call) {
  for (size_t i = 0; i < timeline->task_count; i++) {
    const weir__timeline_call *made = &timeline->tasks[i].call;
    if (made->number == call && made->direction == WEIR__TIMELINE_NO_MESSAGE) return true;
  }
  return false;
}

// Takes out the receive at an index, and its send; puts them back.
static void check_without(weir__timeline *timeline, size_t receive, weir__check_report *report) {
  size_t send = (size_t)(joined_send(timeline, &timeline->tasks[receive]) - timeline->tasks);
  size_t high = send > receive ? send : receive, low = send > receive ? receive : send;
  joined_take_out(timeline, high);
  joined_take_out(timeline, low);
  assert_int_equal(check(timeline, report), WEIR__CHECK_BROKEN);
  if (strstr(report->text, "VERSION broken: task 'step' (id ") == NULL || strstr(report->text, " of rank ") == NULL)
    fail_msg("%s", report->text);
  joined_put_back(timeline, low);
  joined_put_back(timeline, high);
}

// Each message that a task needs, one at a time.
static void check_needed(weir__timeline *timeline, weir__check_report *report) {
  size_t tried = 0;
  for (size_t i = 0; i < timeline->task_count && tried < 20; i++) {
    const weir__timeline_call *call = &timeline->tasks[i].call;
    if (call->direction != WEIR__TIMELINE_RECEIVES || !is_made(timeline, call->number)) continue;
    check_without(timeline, i, report);
    tried++;
  }
  assert_true(tried > 0);
}

static void test_joined(void **state) {
  (void)state;
  const char *given = getenv("WEIR_TEST_SEED");
  uint64_t first = given == NULL ? 1 : strtoull(given, NULL, 10);
  for (uint64_t seed = first; seed < first + 9; seed++) {
    weir__timeline *timeline = joined_run(RANKS, seed, 1, seed % 3 == 1 ? 0 : seed % 3 == 2 ? SKEW_NS : -SKEW_NS);
    assert_int_equal(timeline->rank_count, RANKS);
    assert_int_equal(timeline->dropped, 0);
    // A clock that was not corrected would be wrong by far more than the time-out of the test.
    for (size_t i = 0; i < RANKS; i++) assert_true(timeline->ranks[i].error_ns < (uint64_t)SKEW_NS / 2);
    check_messages(timeline);
    weir__check_report *report = calloc(1, sizeof *report);
    if (check(timeline, report) != WEIR__CHECK_PROVED) fail_msg("seed %d: %s", (int)seed, report->text);
    assert_int_equal(report->ranks, RANKS);
    check_needed(timeline, report);
    assert_int_equal(check(timeline, report), WEIR__CHECK_PROVED);
    free(report);
    weir__timeline_destroy(timeline);
  }
}

static void test_clock(void **state) {
  (void)state;
  weir__mpi_clock clock = {0};
  weir__mpi_clock_add(&clock, 1000, 5500, 2000); // 5500 there is 1500 here, give or take 500
  assert_int_equal(clock.offset_ns, 4000);
  assert_int_equal(clock.error_ns, 500);
  weir__mpi_clock_add(&clock, 3000, 9999, 5000); // a longer way says nothing
  assert_int_equal(clock.offset_ns, 4000);
  weir__mpi_clock_add(&clock, 6000, 5, 6020); // behind
  assert_int_equal(clock.offset_ns, -6005);
  assert_int_equal(clock.error_ns, 10);
  assert_int_equal(clock.rounds, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_clock), cmocka_unit_test(test_joined)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
