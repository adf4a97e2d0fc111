// SPDX-License-Identifier: Apache-2.0
//
// Timelines of ranks whose clocks differ become one, in which each message goes forward in time, and which the checker
// proves. Without one of the messages that a task needs, it does not.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "check/check.h"
#include "mpi_program.h"
#include "rank_threads.h"
#include "timeline/join.h"

enum { RANKS = 3, PATH = 64 };
static const int64_t SKEW_NS = 1000000000000;
static char folder[] = "/tmp/weir-mpi-timeline-XXXXXX";

static void path_of(uint32_t rank, char *path) {
  snprintf(path, PATH, "%s/rank%u.json", folder, rank);
}

static void random_body(rank_run *run) {
  snprintf(run->text, sizeof run->text, "%s", mpi_program_run(run->context, run->mpi, run->seed, false));
}

static void save(rank_run *run) {
  char path[PATH];
  path_of(run->rank, path);
  run->status = weir_trace_save(run->context, path, "ranks");
}

// Runs a random program, and reads its joined timeline.
static weir__timeline *run_and_join(uint64_t seed, int64_t skew_ns) {
  char paths[RANKS][PATH], *names[RANKS], message[512], *json = NULL;
  size_t bytes = 0;
  rank_run runs[RANKS];
  rank_threads_flags = WEIR_CONTEXT_TRACE;
  rank_threads_skew_ns = skew_ns;
  rank_threads_after = save;
  rank_threads_run(runs, RANKS, seed, &(weir_mpi_options){0}, random_body);
  for (uint32_t rank = 0; rank < RANKS; rank++) {
    assert_string_equal(runs[rank].text, "");
    assert_int_equal(runs[rank].status, WEIR_OK);
    path_of(rank, names[rank] = paths[rank]);
  }
  weir__timeline *timeline = NULL;
  if (weir__timeline_join(names, RANKS, message, sizeof message, &json, &bytes) != WEIR_OK) fail_msg("%s", message);
  if (weir__timeline_read_memory("joined", json, bytes, message, sizeof message, &timeline) != WEIR_OK)
    fail_msg("%s", message);
  free(json);
  for (uint32_t rank = 0; rank < RANKS; rank++) unlink(paths[rank]);
  return timeline;
}

static const weir__timeline_task *find_send(const weir__timeline *timeline, const weir__timeline_task *receive) {
  for (size_t i = 0; i < receive->wait_count; i++) {
    const weir__timeline_wait *wait = &timeline->waits[receive->wait_first + i];
    if (strcmp(wait->hazard, "MESSAGE") != 0) continue;
    for (size_t k = 0; k < timeline->task_count; k++) {
      if (timeline->tasks[k].id == wait->task) return &timeline->tasks[k];
    }
  }
  return NULL;
}

static void check_messages(const weir__timeline *timeline) {
  size_t sends = 0, receives = 0;
  for (size_t i = 0; i < timeline->task_count; i++) {
    const weir__timeline_task *task = &timeline->tasks[i];
    sends += task->call.direction == WEIR__TIMELINE_SENDS;
    if (task->call.direction != WEIR__TIMELINE_RECEIVES) continue;
    const weir__timeline_task *send = find_send(timeline, task);
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

static void swap_tasks(weir__timeline *timeline, size_t a, size_t b) {
  weir__timeline_task task = timeline->tasks[a];
  timeline->tasks[a] = timeline->tasks[b];
  timeline->tasks[b] = task;
}

// Takes out the receive at an index, and its send; puts them back.
static void check_without(weir__timeline *timeline, size_t receive, weir__check_report *report) {
  size_t send = (size_t)(find_send(timeline, &timeline->tasks[receive]) - timeline->tasks), last = timeline->task_count;
  size_t high = send > receive ? send : receive, low = send > receive ? receive : send;
  swap_tasks(timeline, high, last - 1);
  swap_tasks(timeline, low, last - 2);
  timeline->task_count -= 2;
  assert_int_equal(check(timeline, report), WEIR__CHECK_BROKEN);
  if (strstr(report->text, "VERSION broken: task 'step' (id ") == NULL || strstr(report->text, " of rank ") == NULL)
    fail_msg("%s", report->text);
  timeline->task_count = last;
  swap_tasks(timeline, low, last - 2);
  swap_tasks(timeline, high, last - 1);
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
    weir__timeline *timeline = run_and_join(seed, seed % 3 == 1 ? 0 : seed % 3 == 2 ? SKEW_NS : -SKEW_NS);
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
  if (mkdtemp(folder) == NULL) return 1;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  rmdir(folder);
  return failed;
}
