// SPDX-License-Identifier: Apache-2.0
//
// Which tasks of enqueue functions are collected, and which batches get graphs: programs that come again, that never
// do, that do a few times, and that begin to. No device is needed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "device/cuda/graph/steady.h"

enum { FUNCTIONS = 5, CALLS = 200, BATCH = 40, MOST_GRAPHS = 1 << 16 };

// A program of passes of 200 calls of five functions, cut into batches of 40. It does what a device does.
typedef struct program {
  weir__cuda_steady *steady;
  weir__task *task; // one, for all
  uint64_t graphs[MOST_GRAPHS];
  bool paid[MOST_GRAPHS];
  uint32_t graph_count;
  uint64_t calls, captured,
      launched; // calls one by one; of those captured, and those in launches of graphs that were there
} program;

static program *make(void) {
  program *p = calloc(1, sizeof *p);
  assert_non_null(p);
  p->steady = weir__cuda_steady_create(0);
  p->task = calloc(1, sizeof *p->task);
  assert_true(p->steady != NULL && p->task != NULL);
  p->task->args = (void **)(void *)p->task->payload;
  p->task->arg_count = 1;
  return p;
}

static void drop(program *p) {
  weir__cuda_steady_destroy(p->steady);
  free(p->task);
  free(p);
}

static const weir__task *task_of(program *p, uint32_t call, uint64_t version) {
  p->task->code =
      (void *)(uintptr_t)(0x1000 + call % FUNCTIONS * 0x140); // NOLINT: no more than numbers, which do not change
  p->task->args[0] = (void *)(uintptr_t)(0x10000 + (version << 32) + call * UINT64_C(256)); // NOLINT: an address
  return p->task;
}

static void launch(program *p, uint32_t graph, uint32_t first, uint64_t version) {
  weir__cuda_steady_pays(p->steady, p->paid[graph] ? 0 : BATCH);
  p->paid[graph] = true;
  p->launched += BATCH;
  for (uint32_t i = first; i < first + BATCH; i++) weir__cuda_steady_again(p->steady, task_of(p, i, version));
}

static void batch(program *p, uint32_t first, uint64_t version) {
  uint64_t hash = 1;
  uint32_t collected = 0, graph = 0;
  for (uint32_t i = first; i < first + BATCH; i++) {
    const weir__task *task = task_of(p, i, version);
    hash = (hash ^ weir__cuda_steady_hash(task)) * UINT64_C(0x9e3779b97f4a7c15);
    collected += weir__cuda_steady_task(p->steady, task);
  }
  bool may_make = collected == BATCH && weir__cuda_steady_batch(p->steady, hash, BATCH);
  while (graph < p->graph_count && p->graphs[graph] != hash) graph++;
  if (collected == BATCH && graph < p->graph_count) {
    launch(p, graph, first, version);
  } else if (may_make) {
    weir__cuda_steady_made(p->steady, BATCH);
    p->graphs[p->graph_count++] = hash;
    p->captured += BATCH;
  } else {
    p->calls += BATCH;
  }
}

static void pass(program *p, uint64_t version) {
  for (uint32_t first = 0; first < CALLS; first += BATCH) batch(p, first, version);
}

// The first pass is new, the second is the first that comes again, the third is captured.
static void test_regular(void **state) {
  (void)state;
  program *p = make();
  for (uint32_t i = 0; i < 1000; i++) pass(p, 0);
  assert_int_equal(p->calls, 2 * CALLS);
  assert_int_equal(p->captured, CALLS);
  assert_int_equal(p->launched, 997 * CALLS);
  drop(p);
}

// Addresses that go round among few: as many graphs.
static void test_alternating(void **state) {
  (void)state;
  program *p = make();
  for (uint32_t i = 0; i < 1000; i++) pass(p, i % 4);
  assert_int_equal(p->captured, 4 * CALLS);
  assert_int_equal(p->launched, (1000 - 3 * 4) * CALLS);
  drop(p);
}

static void test_new(void **state) {
  (void)state;
  program *p = make();
  for (uint32_t i = 0; i < 3000; i++) pass(p, i);
  assert_int_equal(p->calls, 3000 * CALLS);
  drop(p);
}

// Passes that come three times and then no more: what is captured in vain stays below a share of all calls, and then
// nothing is for long.
static void test_in_vain(void **state) {
  (void)state;
  program *p = make();
  for (uint32_t i = 0; i < 6000; i++) pass(p, i / 3);
  assert_int_equal(p->launched, 0);
  assert_true(p->captured <= 8192 + 6000 * CALLS / 64);
  drop(p);
}

// Not even the first epoch, of 32,768 tasks, goes by in vain.
static void test_soon_in_vain(void **state) {
  (void)state;
  program *p = make();
  for (uint32_t i = 0; i < 30; i++) pass(p, i / 3);
  uint64_t captured = p->captured;
  for (uint32_t i = 30; i < 150; i++) pass(p, i / 3);
  assert_true(captured > 0 && captured <= FUNCTIONS * 1024);
  assert_int_equal(p->captured, captured);
  assert_int_equal(p->launched, 0);
  drop(p);
}

// One that becomes regular gets its graphs.
static void test_way_back(void **state) {
  (void)state;
  program *p = make();
  for (uint32_t i = 0; i < 6000; i++) pass(p, i / 3);
  p->launched = 0;
  uint32_t passes = 0;
  for (uint64_t calls = 0; passes < 40000 && calls != p->calls + p->captured; passes++) {
    calls = p->calls + p->captured;
    pass(p, 1u << 20);
  }
  assert_true(passes <= (6000 + 1000) * 3); // as long again as it was irregular, and some
  assert_true(p->launched > 0);
  drop(p);
}

static void test_memory(void **state) {
  (void)state;
  weir__allocate_fail_at(1);
  assert_null(weir__cuda_steady_create(0));
  weir__allocate_fail_at(0);
  weir__cuda_steady_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_regular),      cmocka_unit_test(test_alternating),
                                     cmocka_unit_test(test_new),          cmocka_unit_test(test_in_vain),
                                     cmocka_unit_test(test_soon_in_vain), cmocka_unit_test(test_way_back),
                                     cmocka_unit_test(test_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
