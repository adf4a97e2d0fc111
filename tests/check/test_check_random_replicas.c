// SPDX-License-Identifier: Apache-2.0
//
// Random programs on three memories, with the transfers that they need: their timelines are proved. With tasks moved, transfers
// left out, and storages and ranges changed at random, no timeline is proved in which a task reads anything but what the last
// task before it wrote, or what was there if none did. That is found by playing the timeline byte by byte.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schedule.h"

enum { BUFFERS = 3, MEMORIES = 3, BYTES = 6, STEPS = 14, MOST_TASKS = 200, MOST_ACCESSES = 400, STORAGES = 512 };

// What a task does with bytes of a storage: it reads them, puts something there, or both.
typedef struct use {
  size_t task;
  uint64_t storage, buffer, lo, hi, start, end;
  bool reads, puts, brings;
} use;

typedef struct maker {
  weir__timeline *timeline;
  uint64_t seed, now_ns, next_storage;
  uint64_t storage[BUFFERS][MEMORIES];
  bool valid[BUFFERS][MEMORIES][BYTES];
} maker;

static weir__timeline *create(void) {
  weir__timeline *t = calloc(1, sizeof *t);
  if (!t) abort();
  t->tasks = calloc(MOST_TASKS, sizeof *t->tasks);
  t->accesses = calloc(MOST_ACCESSES, sizeof *t->accesses);
  if (!t->tasks || !t->accesses) abort();
  return t;
}

static size_t list_uses(const weir__timeline *t, use *uses) {
  size_t count = 0;
  for (size_t i = 0; i < t->task_count; i++) {
    const weir__timeline_task *task = &t->tasks[i];
    for (uint32_t k = 0; k < task->access_count; k++) {
      const weir__timeline_access *a = &t->accesses[task->access_first + k];
      uses[count++] = (use){.task = i,
                            .storage = a->storage,
                            .buffer = a->buffer,
                            .lo = a->offset,
                            .hi = a->offset + a->bytes,
                            .start = task->start_ns,
                            .end = task->end_ns,
                            .reads = a->mode != WEIR_WRITE,
                            .puts = a->mode != WEIR_READ};
    }
    if (task->destination.storage == 0) continue;
    uses[count] = uses[count - 1];
    uses[count].storage = task->destination.storage;
    uses[count].reads = false;
    uses[count].puts = uses[count].brings = true;
    count++;
  }
  return count;
}

static bool conflict(const use *a, const use *b) {
  return a->storage == b->storage && a->lo < b->hi && b->lo < a->hi && (a->puts || b->puts);
}

// Behind all that conflicts with it, and sometimes later.
static void schedule_task(maker *m, weir__timeline_task *task) {
  static use uses[MOST_ACCESSES];
  weir__timeline *t = m->timeline;
  size_t own = t->task_count++, count = list_uses(t, uses);
  uint64_t start = m->now_ns += random_in(&m->seed, 0, 3);
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < count; k++) {
      bool hits = uses[i].task == own && uses[k].task != own && conflict(&uses[i], &uses[k]);
      if (hits && uses[k].end > start) start = uses[k].end;
    }
  }
  task->start_ns = start + random_in(&m->seed, 0, 3);
  task->end_ns = task->start_ns + 1 + random_in(&m->seed, 0, 20);
}

static weir__timeline_task *begin_task(maker *m) {
  weir__timeline_task *task = &m->timeline->tasks[m->timeline->task_count];
  *task = (weir__timeline_task){
      .id = m->timeline->task_count + 1, .status = "WEIR_OK", .access_first = m->timeline->access_count};
  return task;
}

static void add_access(maker *m, weir__timeline_task *task, weir_mode mode, uint32_t buffer, uint32_t memory,
                       uint64_t lo, uint64_t hi) {
  m->timeline->accesses[m->timeline->access_count++] = (weir__timeline_access){.mode = mode,
                                                                               .buffer = buffer + 1,
                                                                               .storage = m->storage[buffer][memory],
                                                                               .offset = lo,
                                                                               .bytes = hi - lo,
                                                                               .memory = memory};
  task->access_count++;
}

static void transfer(maker *m, uint32_t buffer, uint32_t from, uint32_t to, uint64_t lo, uint64_t hi) {
  weir__timeline_task *task = begin_task(m);
  add_access(m, task, WEIR_READ, buffer, from, lo, hi);
  task->destination = (weir__timeline_destination){m->storage[buffer][to], to};
  schedule_task(m, task);
  for (uint64_t i = lo; i < hi; i++) m->valid[buffer][to][i] = true;
}

// Brings what a memory lacks, range by range.
static void supply(maker *m, uint32_t buffer, uint32_t memory, uint64_t lo, uint64_t hi) {
  for (uint64_t i = lo, end; i < hi; i = end) {
    end = i + 1;
    if (m->valid[buffer][memory][i]) continue;
    uint32_t from = (uint32_t)random_in(&m->seed, 0, MEMORIES);
    while (!m->valid[buffer][from][i]) from = (from + 1) % MEMORIES;
    while (end < hi && !m->valid[buffer][memory][end] && m->valid[buffer][from][end]) end++;
    transfer(m, buffer, from, memory, i, end);
  }
}

static void add_task(maker *m, weir_mode mode, uint32_t buffer, uint32_t memory, uint64_t lo, uint64_t hi) {
  if (mode != WEIR_WRITE) supply(m, buffer, memory, lo, hi);
  bool whole = mode == WEIR_WRITE && hi - lo == BYTES;
  if (whole && random_in(&m->seed, 0, 2) == 0) m->storage[buffer][memory] = m->next_storage++;
  weir__timeline_task *task = begin_task(m);
  add_access(m, task, mode, buffer, memory, lo, hi);
  uint32_t other = (buffer + 1) % BUFFERS;
  bool reads_other = random_in(&m->seed, 0, 3) == 0;
  for (uint64_t i = 0; i < BYTES; i++) reads_other = reads_other && m->valid[other][memory][i];
  if (reads_other) add_access(m, task, WEIR_READ, other, memory, 0, BYTES);
  schedule_task(m, task);
  if (mode == WEIR_READ) return;
  for (uint32_t k = 0; k < MEMORIES; k++) {
    for (uint64_t i = lo; i < hi; i++) m->valid[buffer][k][i] = k == memory;
  }
}

static weir__timeline *make(uint64_t seed) {
  maker m = {.timeline = create(), .seed = seed, .next_storage = 1};
  for (uint32_t b = 0; b < BUFFERS; b++) {
    for (uint32_t k = 0; k < MEMORIES; k++) m.storage[b][k] = m.next_storage++;
    uint32_t memory = (uint32_t)random_in(&m.seed, 0, MEMORIES);
    if (random_in(&m.seed, 0, 3) > 0) {
      add_task(&m, WEIR_WRITE, b, memory, 0, BYTES);
    } else {
      for (int i = 0; i < BYTES; i++) m.valid[b][memory][i] = true; // nobody wrote what is there
    }
  }
  for (int i = 0; i < STEPS; i++) {
    uint64_t lo = random_in(&m.seed, 0, 2) ? 0 : random_in(&m.seed, 0, BYTES);
    uint64_t hi = lo == 0 && random_in(&m.seed, 0, 2) ? BYTES : random_in(&m.seed, lo + 1, BYTES + 1);
    add_task(&m, (weir_mode)random_in(&m.seed, WEIR_READ, WEIR_READ_WRITE + 1),
             (uint32_t)random_in(&m.seed, 0, BUFFERS), (uint32_t)random_in(&m.seed, 0, MEMORIES), lo, hi);
  }
  return m.timeline;
}

// ---------------------------------------------------------------------------------------------------------------

static bool races(const use *uses, size_t count) {
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < i; k++) {
      bool apart = uses[i].end <= uses[k].start || uses[k].end <= uses[i].start;
      if (uses[i].task != uses[k].task && conflict(&uses[i], &uses[k]) && !apart) return true;
    }
  }
  return false;
}

static int compare_times(const void *a, const void *b) {
  const use *x = a, *y = b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  if (x->task != y->task) return x->task < y->task ? -1 : 1;
  return x->puts < y->puts ? -1 : x->puts > y->puts; // a transfer reads, then brings
}

// The task that writes a byte of a buffer last before another one, in the program; SIZE_MAX: none.
static size_t last_writer(const use *uses, size_t count, uint64_t buffer, uint64_t byte, size_t before) {
  size_t last = SIZE_MAX;
  for (size_t i = 0; i < count; i++) {
    const use *one = &uses[i];
    bool writes = one->puts && !one->brings && one->buffer == buffer && one->lo <= byte && byte < one->hi;
    if (writes && one->task < before && (last == SIZE_MAX || one->task > last)) last = one->task;
  }
  return last;
}

// Whether a task reads something else than in the program. Contents are known by who wrote them, or by the storage that
// had them at first. A byte that no task has written before is right if all who read it find the same.
static bool is_wrong(const weir__timeline *t) {
  static use uses[MOST_ACCESSES];
  static size_t contents[STORAGES][BYTES];
  size_t carried[BYTES] = {0}, unwritten[BUFFERS + 1][BYTES], count = list_uses(t, uses);
  if (races(uses, count)) return true;
  memset(unwritten, 0xff, sizeof unwritten);
  for (size_t i = 0; i < STORAGES; i++) {
    for (size_t k = 0; k < BYTES; k++) contents[i][k] = MOST_TASKS + i;
  }
  qsort(uses, count, sizeof *uses, compare_times);
  for (size_t i = 0; i < count; i++) {
    const use *one = &uses[i];
    for (uint64_t byte = one->lo; byte < one->hi; byte++) {
      size_t *there = &contents[one->storage][byte];
      if (one->reads) {
        size_t wanted = last_writer(uses, count, one->buffer, byte, one->task);
        size_t *first = &unwritten[one->buffer][byte];
        if (wanted == SIZE_MAX) wanted = *first = *first == SIZE_MAX ? *there : *first;
        if (*there != wanted) return true;
        carried[byte] = *there;
      }
      if (one->puts) *there = one->brings ? carried[byte] : one->task;
    }
  }
  return false;
}

static void disturb_access(weir__timeline *t, uint64_t *seed) {
  weir__timeline_access *access = &t->accesses[random_in(seed, 0, t->access_count)];
  const weir__timeline_access *other = &t->accesses[random_in(seed, 0, t->access_count)];
  if (random_in(seed, 0, 2)) {
    access->storage = other->storage;
    access->memory = other->memory;
  } else if (access->bytes > 1) {
    access->bytes--;
  }
}

// A transfer brings what it reads to another place, or what only reads becomes a transfer.
static void disturb_destination(weir__timeline *t, uint64_t *seed) {
  weir__timeline_task *task = &t->tasks[random_in(seed, 0, t->task_count)];
  const weir__timeline_access *other = &t->accesses[random_in(seed, 0, t->access_count)];
  if (task->access_count == 1 && t->accesses[task->access_first].mode == WEIR_READ)
    task->destination = (weir__timeline_destination){other->storage, (uint32_t)other->memory};
}

static void disturb(weir__timeline *t, uint64_t *seed) {
  for (uint64_t i = random_in(seed, 1, 4); i > 0; i--) {
    size_t index = random_in(seed, 0, t->task_count);
    weir__timeline_task *task = &t->tasks[index];
    uint64_t length = task->end_ns - task->start_ns, move = random_in(seed, 0, 60), what = random_in(seed, 0, 5);
    if (what <= 1) {
      task->start_ns = task->start_ns + move > 30 ? task->start_ns + move - 30 : 0;
      task->end_ns = task->start_ns + length;
    } else if (what == 2) {
      disturb_access(t, seed);
    } else if (what == 3) {
      disturb_destination(t, seed);
    } else if (task->destination.storage != 0) {
      memmove(task, task + 1, (t->task_count - index - 1) * sizeof *task);
      t->task_count--;
    }
  }
}

// A transfer between one storage is none that could be read.
static bool is_readable(const weir__timeline *t) {
  for (size_t i = 0; i < t->task_count; i++) {
    const weir__timeline_task *task = &t->tasks[i];
    if (task->destination.storage == t->accesses[task->access_first].storage) return false;
  }
  return true;
}

static void test_random_replicas(void **state) {
  (void)state;
  uint64_t seed = random_seed(9), wrong = 0, right = 0, proved = 0;
  static weir__check_report report;
  for (int round = 0; round < 3000; round++) {
    uint64_t round_seed = seed;
    weir__timeline *timeline = make(random_next(&seed));
    if (is_wrong(timeline) || weir__check_ranks_alone(timeline, NULL, &report) != WEIR__CHECK_PROVED)
      fail_msg("round %d, WEIR_TEST_SEED=%llu: %s", round, (unsigned long long)round_seed, report.text);
    disturb(timeline, &seed);
    weir__check_result result = weir__check_ranks_alone(timeline, NULL, &report);
    bool is_bad = is_wrong(timeline);
    if (is_bad && is_readable(timeline) && result == WEIR__CHECK_PROVED)
      fail_msg("round %d, WEIR_TEST_SEED=%llu: a task reads something else", round, (unsigned long long)round_seed);
    wrong += is_bad;
    right += !is_bad;
    proved += result == WEIR__CHECK_PROVED;
    weir__timeline_destroy(timeline);
  }
  printf("%llu wrong; of %llu others %llu are proved\n", (unsigned long long)wrong, (unsigned long long)right,
         (unsigned long long)proved);
  assert_true(wrong > 1000 && proved > 500);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_replicas)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
