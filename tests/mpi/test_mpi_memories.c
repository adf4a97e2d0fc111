// SPDX-License-Identifier: Apache-2.0
//
// Joined timelines of random programs on 1 to 4 ranks with the devices of the argument (rank_threads_choose) are proved. With
// a mistake made in one of them, they are not: a transfer is left out, or ends too late, a message is sent too early, or
// what a rank received is overwritten too early.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "joined.h"
#include "part.h"
#include "random.h"

enum { JOBS = 40, PROGRAMS = 5, TRIES = 3 }; // the last: of each mistake in a timeline
enum { OTHER_BUFFER = 999999999 };           // a number that no buffer has

static weir__check_report report;

static uint64_t rank_of(const weir__timeline_task *task) {
  return task->id / WEIR__TIMELINE_RANK_IDS;
}

static bool overlap(const weir__timeline_access *a, const weir__timeline_access *b) {
  return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

// What a task puts where, as accesses: its last one is that of a transfer's destination. Returns how many there are.
static size_t list_accesses(const weir__timeline *timeline, const weir__timeline_task *task,
                            weir__timeline_access *out_list) {
  memcpy(out_list, &timeline->accesses[task->access_first], task->access_count * sizeof *out_list);
  if (task->destination.storage == 0) return task->access_count;
  out_list[1] = out_list[0];
  out_list[1].mode = WEIR_WRITE;
  out_list[1].storage = task->destination.storage;
  out_list[1].memory = task->destination.memory;
  return 2;
}

// The access of a task to some byte of another one's in its storage; its mode is 0: there is none. A write comes first.
static weir__timeline_access access_of(const weir__timeline *timeline, size_t task, const weir__timeline_access *put) {
  weir__timeline_access list[8], found = {0};
  size_t count = list_accesses(timeline, &timeline->tasks[task], list);
  for (size_t i = 0; i < count; i++) {
    if (list[i].storage == put->storage && overlap(&list[i], put) && found.mode != WEIR_WRITE) found = list[i];
  }
  return found;
}

static bool is_of_rank(const weir__timeline *timeline, size_t task, uint64_t rank) {
  return task < timeline->task_count && rank_of(&timeline->tasks[task]) == rank;
}

// The next task of the rank that reads what a task put somewhere, if nobody puts something else there before. The tasks of a
// rank are in their order. SIZE_MAX: none.
static size_t find_reader(const weir__timeline *timeline, size_t task, const weir__timeline_access *put) {
  uint64_t rank = rank_of(&timeline->tasks[task]);
  for (size_t i = task + 1; is_of_rank(timeline, i, rank); i++) {
    weir__timeline_access access = access_of(timeline, i, put);
    if (access.mode == WEIR_WRITE) return SIZE_MAX;
    if (access.mode != WEIR_VALUE) return i;
  }
  return SIZE_MAX;
}

// The last task of the rank before one that puts something where it reads.
static size_t find_source(const weir__timeline *timeline, size_t task, const weir__timeline_access *read) {
  uint64_t rank = rank_of(&timeline->tasks[task]);
  for (size_t i = task; i-- > 0 && is_of_rank(timeline, i, rank);) {
    weir__timeline_access access = access_of(timeline, i, read);
    if (access.mode != WEIR_VALUE && access.mode != WEIR_READ) return i;
  }
  return SIZE_MAX;
}

// It is found, and the report has one of these texts.
#define EXPECT(timeline, mistake, ...) expect(timeline, mistake, (const char *const[]){__VA_ARGS__, NULL})
static void expect(const weir__timeline *timeline, const char *mistake, const char *const *texts) {
  weir__check_result result = weir__check_ranks_alone(timeline, NULL, &report);
  while (*texts != NULL && strstr(report.text, *texts) == NULL) texts++;
  if (result != WEIR__CHECK_BROKEN || *texts == NULL)
    fail_msg("%s: what is found is not that: %s", mistake, report.text);
}

static void move(weir__timeline_task *task, uint64_t ns) {
  task->submit_ns = 0;
  task->start_ns = task->end_ns = ns;
}

// The mistakes. False: the task is not one with which it can be made.
static bool leave_out(weir__timeline *timeline, size_t task) {
  weir__timeline_access list[8];
  if (timeline->tasks[task].destination.storage == 0) return false;
  list_accesses(timeline, &timeline->tasks[task], list);
  if (find_reader(timeline, task, &list[1]) == SIZE_MAX) return false;
  joined_take_out(timeline, task);
  // What was there on the same device before, in other storage, is no matter of a transfer.
  EXPECT(timeline, "a transfer is left out", "TRANSFER broken", "what is read was written to another storage");
  joined_put_back(timeline, task);
  return true;
}

static bool end_late(weir__timeline *timeline, size_t task) {
  weir__timeline_access list[8];
  weir__timeline_task kept = timeline->tasks[task];
  if (kept.destination.storage == 0) return false;
  list_accesses(timeline, &kept, list);
  size_t reader = find_reader(timeline, task, &list[1]);
  if (reader == SIZE_MAX) return false;
  timeline->tasks[task].end_ns = timeline->tasks[reader].start_ns + 1;
  EXPECT(timeline, "a transfer ends late", "the read starts before the transfer ends", "the read starts before the tr");
  timeline->tasks[task] = kept;
  return true;
}

static bool send_early(weir__timeline *timeline, size_t task) {
  const weir__timeline_task *send = &timeline->tasks[task];
  if (send->call.direction != WEIR__TIMELINE_SENDS) return false;
  size_t source = find_source(timeline, task, &timeline->accesses[send->access_first]);
  if (source == SIZE_MAX) return false;
  weir__timeline_task kept = timeline->tasks[source];
  move(&timeline->tasks[source], send->end_ns + 1);
  EXPECT(timeline, "a message is sent early", "the read starts before the write ends",
         "the read starts before the transfer ends");
  timeline->tasks[source] = kept;
  return true;
}

// What is found is this hazard of one task, whose id is given, and besides at most one other hazard of it.
static void expect_only(const weir__timeline *timeline, const char *hazard, const char *besides, uint64_t id) {
  char wanted[40];
  snprintf(wanted, sizeof wanted, "(id %llu of rank", (unsigned long long)(id % WEIR__TIMELINE_RANK_IDS));
  EXPECT(timeline, "what was received is overwritten", hazard);
  for (char *line = strtok(report.text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    bool known = strstr(line, hazard) != NULL || strstr(line, besides) != NULL;
    if (!known || strstr(line, wanted) == NULL) fail_msg("not %s of %s: %s", hazard, wanted, line);
  }
}

// A task behind all others of a rank, and of no call, writes to where something is, at a time. Returns its id.
static uint64_t add_write(weir__timeline *timeline, uint64_t rank, const weir__timeline_access *access, uint64_t ns) {
  weir__timeline_task added = {.label = "added", .status = "WEIR_OK", .access_count = 1};
  for (size_t i = 0; i < timeline->task_count; i++) {
    const weir__timeline_task *task = &timeline->tasks[i];
    if (rank_of(task) != rank || task->id < added.id) continue;
    added.id = task->id + 1;
    added.line = task->line;
  }
  move(&added, ns);
  added.access_first = timeline->access_count++;
  timeline->tasks = realloc(timeline->tasks, (timeline->task_count + 1) * sizeof added);
  timeline->accesses = realloc(timeline->accesses, timeline->access_count * sizeof *access);
  assert_true(timeline->tasks != NULL && timeline->accesses != NULL);
  timeline->tasks[timeline->task_count++] = added;
  timeline->accesses[added.access_first] = *access;
  timeline->accesses[added.access_first].mode = WEIR_WRITE;
  timeline->task_capacity = timeline->task_count;
  timeline->access_capacity = timeline->access_count;
  return added.id;
}

// Between a receive and its reader something is written to where the receive wrote: of another buffer, and of the same.
static bool overwrite(weir__timeline *timeline, size_t task) {
  weir__timeline_task receive = timeline->tasks[task];
  if (receive.call.direction != WEIR__TIMELINE_RECEIVES) return false;
  weir__timeline_access received = timeline->accesses[receive.access_first], other = received;
  size_t reader = find_reader(timeline, task, &received);
  if (reader == SIZE_MAX || receive.end_ns >= timeline->tasks[reader].start_ns) return false;
  other.buffer = rank_of(&receive) * WEIR__TIMELINE_RANK_IDS + OTHER_BUFFER;
  other.shared = 0;
  size_t tasks = timeline->task_count, accesses = timeline->access_count;
  for (int same = 0; same < 2; same++) {
    uint64_t id = add_write(timeline, rank_of(&receive), same ? &received : &other, receive.end_ns);
    // What the program writes there before then comes later, too.
    expect_only(timeline, same ? "WAR broken" : "STORAGE broken", same ? "WAW broken" : "STORAGE broken", id);
    timeline->task_count = tasks;
    timeline->access_count = accesses;
  }
  return true;
}

static bool (*const mistakes[])(weir__timeline *timeline, size_t task) = {leave_out, end_late, send_early, overwrite};
enum { MISTAKES = sizeof mistakes / sizeof mistakes[0] };

// From random tasks on. Returns how often the mistake was made.
static size_t make_mistakes(weir__timeline *timeline, size_t mistake, random_state *random) {
  size_t made = 0;
  for (int i = 0; i < TRIES; i++) {
    size_t first = random_below(random, (uint32_t)timeline->task_count), task = first;
    while (task < timeline->task_count && !mistakes[mistake](timeline, task)) task++;
    made += task < timeline->task_count;
  }
  return made;
}

// Memory is that of a device of the same rank.
static void check_memories(const weir__timeline *timeline) {
  uint64_t first[RANK_THREADS_MOST + 1] = {0};
  for (uint32_t rank = 0; rank < timeline->rank_count; rank++) {
    first[rank + 1] = first[rank] + 1;
    for (const char *at = rank_threads_devices[rank]; (at = strchr(at, ',')) != NULL; at++) first[rank + 1]++;
  }
  assert_int_equal(timeline->device_count, first[timeline->rank_count]);
  for (size_t i = 0; i < timeline->task_count; i++) {
    weir__timeline_access list[8];
    uint64_t rank = rank_of(&timeline->tasks[i]);
    size_t count = list_accesses(timeline, &timeline->tasks[i], list);
    for (size_t k = 0; k < count; k++) {
      if (list[k].memory == 0) continue;
      assert_in_range(list[k].memory - 1, first[rank], first[rank + 1] - 1);
      assert_int_not_equal(strncmp(weir__timeline_memory_name(timeline, list[k].memory), "cpu", 3), 0);
    }
  }
}

static void prove(const weir__timeline *timeline, uint32_t job) {
  if (weir__check_ranks_alone(timeline, NULL, &report) != WEIR__CHECK_PROVED) fail_msg("job %u: %s", job, report.text);
}

static void test_memories(void **state) {
  (void)state;
  size_t made[MISTAKES] = {0}, transfers = 0;
  test_part part = part_of(JOBS);
  for (uint32_t job = part.first; job < part.end; job++) {
    uint32_t ranks = 1 + job % RANK_THREADS_MOST;
    random_state random = {job};
    weir__timeline *timeline = joined_run(ranks, job + 1, PROGRAMS, 0);
    prove(timeline, job);
    check_memories(timeline);
    for (size_t i = 0; i < timeline->task_count; i++) transfers += timeline->tasks[i].destination.storage != 0;
    for (size_t i = 0; i < MISTAKES; i++) made[i] += make_mistakes(timeline, i, &random);
    prove(timeline, job);
    weir__timeline_destroy(timeline);
  }
  printf("%zu transfers; mistakes: %zu %zu %zu %zu\n", transfers, made[0], made[1], made[2], made[3]);
  assert_true(transfers > 0 && made[0] > 0 && made[1] > 0);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_memories)};
  if (argc < 2) return 2;
  return rank_threads_choose(argv[1]) ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
