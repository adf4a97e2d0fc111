// SPDX-License-Identifier: Apache-2.0
//
// weir-bench-window: its kernel's text in C threads that stand in for lanes, and what its cases and the host find, against brute force.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "warp.h"

// The threads of a block: warps of RESIDENT_LANES, which meet.
enum { MOST_WARPS = 4, MOST_THREADS = MOST_WARPS * RESIDENT_LANES };

typedef struct block_threads {
  thread_warp warps[MOST_WARPS];
  uint32_t count, met, round;
  weir__r_host
      *publishes; // at each meeting the first thread publishes a few more tasks here, up to `last`; NULL: nowhere
  uint32_t last;
} block_threads;

static _Thread_local block_threads *threads_self;
static _Thread_local uint32_t thread_self;

static uint32_t window_thread(void) {
  return thread_self;
}
static uint32_t window_threads(void) {
  return threads_self->count;
}
static uint32_t window_add(uint32_t *at, uint32_t value) {
  return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
static void publish(block_threads *threads) {
  uint32_t tail = __atomic_load_n(&threads->publishes->tail, __ATOMIC_RELAXED), left = threads->last - tail;
  __atomic_store_n(&threads->publishes->tail, tail + (left < 3 ? left : 3), __ATOMIC_RELEASE);
}
static void window_meet(void) {
  block_threads *threads = threads_self;
  uint32_t round = __atomic_load_n(&threads->round, __ATOMIC_RELAXED);
  if (thread_self == 0 && threads->publishes != NULL) publish(threads);
  if (__atomic_fetch_add(&threads->met, 1, __ATOMIC_ACQ_REL) == threads->count - 1) {
    __atomic_store_n(&threads->met, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&threads->round, round + 1, __ATOMIC_RELEASE);
    return;
  }
  while (__atomic_load_n(&threads->round, __ATOMIC_ACQUIRE) == round) sched_yield();
}

#define WINDOW_TEST
#define WINDOW_LOOKS 20u
#include "ways.h"

#ifdef WEIR_SMALL_TESTS
enum { TASKS = 100 };
#else
enum { TASKS = 400 };
#endif

// ---------------------------------------------------------------------------------------------------------------
// The kernel

typedef struct rig {
  weir__r_host *head;
  window_task *ring;
  window_card *card;
  window_result *results;
  window_block *block;
  void *memory;
  window_job job;
  block_threads threads;
} rig;

typedef struct rig_thread {
  rig *rig;
  uint32_t index;
} rig_thread;

static void *make(size_t bytes) {
  void *memory = aligned_alloc(128, (bytes + 127) / 128 * 128);
  assert_non_null(memory);
  return memset(memory, 0, bytes);
}

static void rig_open(rig *r, const window_case *which, uint32_t warps, uint32_t slots, uint32_t live, uint32_t first) {
  const uint32_t count = which->program.task_count;
  uint32_t ring_slots = 1;
  while (ring_slots < count) ring_slots *= 2;
  *r = (rig){.threads = {.count = warps * RESIDENT_LANES}};
  r->head = make(sizeof *r->head);
  r->ring = make(ring_slots * sizeof *r->ring);
  r->card = make(sizeof *r->card);
  r->results = make(count * sizeof *r->results);
  r->block = make(sizeof *r->block);
  r->memory = make(slots * (sizeof(window_range) * WINDOW_RANGES + 4));
  r->job = (window_job){r->head, r->ring, r->card, r->results, ring_slots, first, count, slots, live};
  r->head->tail = first + count - 1;
  for (uint32_t i = 0; i < WINDOW_MOST_SLOTS; i++) r->card->done[i] = first - 1;
  for (uint32_t t = 0; t < count; t++) {
    const window_case_task *task = &which->tasks[t];
    window_task *put = &r->ring[(first + t) % ring_slots];
    *put = (window_task){.number = first + t, .ranges = task->ranges, .writes = task->writes};
    for (uint32_t i = 0; i < WINDOW_RANGES; i++)
      put->range[i] =
          i < task->ranges ? (window_range){task->range[i].lo, task->range[i].hi} : (window_range){WINDOW_NOTHING, 0};
  }
}

static void rig_close(rig *r) {
  free(r->head);
  free(r->ring);
  free(r->card);
  free(r->results);
  free(r->block);
  free(r->memory);
}

static void *run_thread(void *user) {
  rig_thread *thread = user;
  rig *r = thread->rig;
  thread_self = thread->index;
  threads_self = &r->threads;
  lane_self = (warp_lane){&r->threads.warps[thread->index / RESIDENT_LANES], thread->index % RESIDENT_LANES};
  point_yields(thread->index + 1, 20);
  window_run(&r->job, r->block, r->memory);
  return NULL;
}

static void rig_run(rig *r) {
  pthread_t threads[MOST_THREADS];
  rig_thread users[MOST_THREADS];
  for (uint32_t i = 0; i < r->threads.count; i++) {
    users[i] = (rig_thread){r, i};
    assert_int_equal(pthread_create(&threads[i], NULL, run_thread, &users[i]), 0);
  }
  for (uint32_t i = 0; i < r->threads.count; i++) pthread_join(threads[i], NULL);
}

static void run_case(const window_case *which, uint32_t warps, uint32_t slots, uint32_t live, uint32_t first) {
  rig r;
  rig_open(&r, which, warps, slots, live, first);
  rig_run(&r);
  if (r.card->status != 0 || r.card->taken != first + which->program.task_count - 1 ||
      !window_check(which, live, first, r.results))
    fail_msg("%s: %u warps, %u slots, %u live, from %u: status %u", which->name, warps, slots, live, first,
             (unsigned)r.card->status);
  rig_close(&r);
}

static void run_windows(const window_case *which) {
  for (uint32_t warps = 1; warps <= MOST_WARPS; warps *= 2) {
    const uint32_t threads = warps * RESIDENT_LANES, most = threads * WINDOW_ROWS;
    for (uint32_t slots = threads; slots <= most; slots *= slots == threads ? 2 : 16) {
      run_case(which, warps, slots, slots - 1, 1);
      run_case(which, warps, slots, slots / 4, 0xffffffff - TASKS / 2); // numbers wrap
    }
  }
  run_case(which, 1, RESIDENT_LANES, 0, 1); // always empty
  run_case(which, 1, RESIDENT_LANES, 1, 7);
  run_case(which, 2, 4 * RESIDENT_LANES, 3, 0x7ffffff0);
}

static void test_layers(void **state) {
  (void)state;
  window_case which;
  window_case_layers(TASKS, 16, &which);
  run_windows(&which);
  window_case_free(&which);
}

static void test_random(void **state) {
  (void)state;
  for (uint32_t ranges = 1; ranges <= WINDOW_RANGES; ranges *= 2) {
    window_case which;
    window_case_random(TASKS, ranges, 10 + ranges, &which);
    run_windows(&which);
    window_case_free(&which);
  }
}

// One range that all write: lists that are full, and counts beyond.
static void test_many(void **state) {
  (void)state;
  window_case which;
  window_case_random(TASKS, 1, 3, &which);
  for (uint32_t t = 0; t < TASKS; t++)
    which.tasks[t] = (window_case_task){.ranges = 1, .writes = t % 7 != 0, .range = {{64, 65 + t % 3}}};
  run_windows(&which);
  window_case_free(&which);
}

// Few tasks, down to one; and no more than a part of a batch at once.
static void test_published_late(void **state) {
  (void)state;
  for (uint32_t tasks = 1; tasks <= 100; tasks += 33) {
    window_case which;
    rig r;
    window_case_random(tasks, 2, tasks, &which);
    run_case(&which, 1, 8 * RESIDENT_LANES, 5, 0xfffffff0);
    rig_open(&r, &which, 2, 4 * RESIDENT_LANES, 4 * RESIDENT_LANES - 1, 0xfffffff0);
    r.threads.last = r.head->tail;
    r.threads.publishes = r.head;
    r.head->tail = r.job.first - 1;
    rig_run(&r);
    assert_int_equal(r.card->status, 0);
    assert_true(window_check(&which, r.job.live, r.job.first, r.results));
    rig_close(&r);
    window_case_free(&which);
  }
}

// What is wrong is said, and ends.
static void test_wrong_jobs(void **state) {
  (void)state;
  window_case which;
  rig r;
  window_case_random(100, 2, 1, &which);
  rig_open(&r, &which, 2, 2 * RESIDENT_LANES, 1, 1);
  r.head->tail = 50;
  rig_run(&r);
  assert_int_equal(r.card->status, WINDOW_STARVED);
  assert_int_equal(r.card->taken, 50);
  rig_close(&r);
  rig_open(&r, &which, 1, RESIDENT_LANES, RESIDENT_LANES, 1);
  rig_run(&r);
  assert_int_equal(r.card->status, WINDOW_BLOCKED);
  rig_close(&r);
  window_case_free(&which);
}

// The check finds what is wrong.
static void test_check(void **state) {
  (void)state;
  window_case which;
  rig r;
  window_case_layers(64, 4, &which);
  rig_open(&r, &which, 1, 2 * RESIDENT_LANES, 2 * RESIDENT_LANES - 1, 1);
  rig_run(&r);
  const window_result right = r.results[40];
  assert_true(window_check(&which, r.job.live, 1, r.results));
  assert_true(right.count >= 1);
  assert_false(window_check(&which, r.job.live, 2, r.results));
  r.results[40].count++;
  assert_false(window_check(&which, r.job.live, 1, r.results));
  r.results[40] = right;
  r.results[40].edges[0]--;
  r.results[40].edges[0] -= r.results[40].edges[0] == right.edges[right.count - 1];
  r.results[40].edges[0] -= 8;
  assert_false(window_check(&which, r.job.live, 1, r.results));
  rig_close(&r);
  window_case_free(&which);
}

// ---------------------------------------------------------------------------------------------------------------
// Cases

enum { MOST_TASKS = 512, LIVE = 512 };
typedef uint64_t task_set[MOST_TASKS / 64];
static task_set conflicts[MOST_TASKS], by_graph[MOST_TASKS], by_host[MOST_TASKS];

static void add(task_set *sets, uint32_t task, uint32_t before) {
  sets[task][before / 64] |= 1ull << before % 64;
  for (int i = 0; i < MOST_TASKS / 64; i++) sets[task][i] |= sets[before][i];
}

static bool has(const task_set set, uint32_t task) {
  return set[task / 64] >> task % 64 & 1;
}

// What is in conflict, a path of the plan's graph and one of the host's lists must order, and their edges must be conflicts.
static void check_case(const window_case *which) {
  const uint32_t tasks = which->program.task_count;
  uint32_t known[MOST_TASKS];
  window_host host;
  window_host_list *lists = make(tasks * sizeof *lists);
  assert_true(tasks <= MOST_TASKS);
  memset(conflicts, 0, sizeof conflicts);
  memset(by_graph, 0, sizeof by_graph);
  memset(by_host, 0, sizeof by_host);
  window_host_open(which, &host);
  assert_true(window_host_find(&host, LIVE, lists) >= 0);
  for (uint32_t t = 0; t < tasks; t++) {
    uint32_t count = window_case_predecessors(which, t, MOST_TASKS, known);
    for (uint32_t i = 0; i < count; i++) conflicts[t][known[i] / 64] |= 1ull << known[i] % 64;
    for (uint64_t e = which->graph.first[t]; e < which->graph.first[t + 1]; e++) {
      if (!has(conflicts[t], which->graph.predecessors[e]))
        fail_msg("%s: an edge to task %u is no conflict", which->name, t);
      add(by_graph, t, which->graph.predecessors[e]);
    }
    if (lists[t].count > WINDOW_HOST_EDGES) fail_msg("%s: task %u has %u edges", which->name, t, lists[t].count);
    for (uint32_t i = 0; i < lists[t].count; i++) {
      if (!has(conflicts[t], lists[t].edges[i]))
        fail_msg("%s: the host's edge to task %u is no conflict", which->name, t);
      add(by_host, t, lists[t].edges[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
      if (!has(by_graph[t], known[i])) fail_msg("%s: the graph misses %u before %u", which->name, known[i], t);
      if (!has(by_host[t], known[i])) fail_msg("%s: the host misses %u before %u", which->name, known[i], t);
    }
  }
  window_host_close(&host);
  free(lists);
}

static void test_cases(void **state) {
  (void)state;
  window_case which;
  for (uint32_t width = 1; width <= 64; width *= 4) {
    window_case_layers(300, width, &which);
    check_case(&which);
    window_case_free(&which);
  }
  for (uint32_t ranges = 1; ranges <= WINDOW_CASE_RANGES; ranges *= 2) {
    window_case_random(300, ranges, ranges, &which);
    check_case(&which);
    window_case_free(&which);
  }
  static const char *const streams[] = {"examples/streams/squeezenet.jsonl", "examples/streams/dynroute_a.0.jsonl",
                                        "examples/streams/hrnet_w18.jsonl", "examples/streams/condconv_b0.jsonl"};
  for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
    for (int renames = 0; renames < 2; renames++) {
      assert_true(window_case_stream(streams[i], renames, &which));
      check_case(&which);
      window_case_free(&which);
    }
  }
  assert_false(window_case_stream("examples/streams/README.md", true, &which));
}

// The first rows of what is measured on the host, of a case in which they are known: a chain.
static void test_measures(void **state) {
  (void)state;
  window_case which;
  window_measures *measures = make(sizeof *measures);
  window_case_layers(200, 1, &which);
  assert_true(window_measure_host(&which, 2, measures));
  assert_true(measures->steps_unlimited == 200 && measures->steps[0] == 200);
  assert_true(measures->card_edges[4] == 199.0 / 200 && measures->host_edges[4] == 199.0 / 200);
  assert_true(measures->too_many[4] == 0);
  window_case_free(&which);
  window_case_layers(256, 64, &which);
  assert_true(window_measure_host(&which, 1, measures));
  assert_true(measures->steps_unlimited == 4 && measures->steps[0] >= 8); // 32 at a time at most
  window_case_free(&which);
  free(measures);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layers),         cmocka_unit_test(test_random),     cmocka_unit_test(test_many),
      cmocka_unit_test(test_published_late), cmocka_unit_test(test_wrong_jobs), cmocka_unit_test(test_check),
      cmocka_unit_test(test_cases),          cmocka_unit_test(test_measures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
