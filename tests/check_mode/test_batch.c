// SPDX-License-Identifier: Apache-2.0
//
// Tasks that are ready at the same time are checked at once on a card, with the CUDA driver without one: each finding is that of
// its task, the others get their results once, and few launches serve all.
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planted.h"
#include "stub.h"
#include "weir/cuda.h"

enum { TASKS = 24, WORDS = 65, BYTES = 4 * WORDS };

static _Atomic bool opened;

static void hold(const weir_work *work) {
  (void)work;
  while (!atomic_load(&opened)) sched_yield();
}

typedef struct batch {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *from[TASKS], *to[TASKS];
  planted_kind kinds[TASKS];
  weir_event *events[TASKS];
  weir_status submitted;
} batch;

static uint32_t from_word(int task, int word) {
  return (uint32_t)(1000 * task + word);
}

// Everything is submitted before anything is ready.
static void submit(batch *all, int count) {
  weir_event *held;
  atomic_store(&opened, false);
  planted_ok(weir_submit(all->context, &(weir_task){.host = hold}, &held));
  for (int i = 0; i < count; i++) {
    const planted_value value = {.kind = all->kinds[i], .words = WORDS};
    bool updates = all->kinds[i] == PLANTED_ACCUMULATES;
    weir_arg args[] = {weir_reads(all->from[i]), updates ? weir_updates(all->to[i]) : weir_writes(all->to[i]),
                       weir_value(&value, sizeof value)};
    const weir_task task = {.kernel = all->kernel,
                            .args = args,
                            .arg_count = 3,
                            .groups = {WORDS},
                            .device = weir_context_device(all->context, 0),
                            .after = &held,
                            .after_count = 1};
    planted_ok(weir_submit(all->context, &task, &all->events[i]));
  }
  atomic_store(&opened, true);
  weir_event_release(held);
}

// All contents are on the card afterwards, and junk is, too: tasks need no transfers.
static void open_batch(batch *all, weir_issue issue) {
  assert_true(stub_configure(&(stub_options){.seed = 5}));
  const weir_context_options options = {.devices = "cuda,cpu:1", .flags = WEIR_CONTEXT_CHECK, .issue = issue};
  planted_ok(weir_context_create(&options, &all->context));
  all->kernel = planted_kernel_on_card(all->context);
  for (int i = 0; i < TASKS; i++) {
    uint32_t words[WORDS];
    for (int j = 0; j < WORDS; j++) words[j] = from_word(i, j);
    planted_ok(weir_buffer_create(all->context, BYTES, &all->from[i]));
    planted_ok(weir_buffer_create(all->context, BYTES, &all->to[i]));
    planted_ok(weir_copy_in(all->from[i], 0, WEIR_WHOLE, words, NULL));
    planted_ok(weir_copy_in(all->to[i], 0, WEIR_WHOLE, words, NULL));
    planted_ok(weir_finish(all->context));
    all->kinds[i] = PLANTED_NOTHING;
  }
  submit(all, TASKS);
  planted_ok(weir_finish(all->context));
  for (int i = 0; i < TASKS; i++) weir_event_release(all->events[i]);
}

static void expect_words(batch *all, int task) {
  uint32_t words[WORDS];
  weir_event *event;
  planted_ok(weir_copy_out(all->to[task], 0, WEIR_WHOLE, words, &event));
  planted_ok(weir_event_wait(event, WEIR_FOREVER));
  weir_event_release(event);
  for (int j = 0; j < WORDS; j++) {
    uint32_t before = from_word(task, j), expected = before * 3 + 1;
    if (all->kinds[task] == PLANTED_ACCUMULATES) expected *= 2; // there was the same before
    if (words[j] != expected) fail_msg("task %d, word %d: %u instead of %u", task, j, words[j], expected);
  }
}

static void close_batch(batch *all) {
  for (int i = 0; i < TASKS; i++) {
    weir_buffer_release(all->from[i]);
    weir_buffer_release(all->to[i]);
  }
  weir_kernel_release(all->kernel);
  weir_context_release(all->context);
  assert_int_equal(stub_live_count(), 0);
  assert_string_equal(stub_violation_text(), "");
}

typedef struct far_value {
  uint32_t words, distance; // of the word that it overwrites by mistake
} far_value;

static void write_far(const stub_launch *launch) {
  far_value value;
  uint64_t from, to;
  memcpy(&value, launch->params[2], sizeof value);
  memcpy(&from, launch->params[0], sizeof from);
  memcpy(&to, launch->params[1], sizeof to);
  const uint32_t *words = stub_memory(launch, from, 4 * (uint64_t)value.words);
  uint32_t *results = stub_memory(launch, to, 4 * ((uint64_t)value.distance + 1));
  if (words == NULL || results == NULL) return;
  planted_words((uint32_t *)(uintptr_t)words, results, (planted_value){.kind = PLANTED_NOTHING, .words = value.words},
                value.words);
  results[value.distance] = 7;
}

// A mistake beyond what is looked at does not change what other tasks get that are checked at the same time: each task writes to
// where the next one has its results in the first run.
static void test_far_writes(void **state) {
  (void)state;
  enum { FAR_TASKS = 8, GUARD = 1024, ARENA = 2 * (GUARD + 2 * GUARD) };
  batch all;
  weir_event *held;
  weir_kernel *kernel;
  stub_register("write_far", write_far);
  open_batch(&all, WEIR_ISSUE_QUEUES);
  planted_ok(weir_kernel_create(all.context, "far", &kernel));
  planted_ok(weir_kernel_set_cuda(kernel, &(weir_cuda_code){.source = "STUB\nwrite_far 256 8 8 8\n"},
                                  &(weir_cuda_launch){.function = "write_far", .block = {1, 1, 1}}, 1));
  atomic_store(&opened, false);
  planted_ok(weir_submit(all.context, &(weir_task){.host = hold}, &held));
  for (int i = 0; i < FAR_TASKS; i++) {
    const far_value value = {.words = WORDS, .distance = i < FAR_TASKS - 1 ? ARENA / 4 : 0};
    const weir_arg args[] = {weir_reads(all.from[i]), weir_writes(all.to[i]), weir_value(&value, sizeof value)};
    const weir_task task = {.kernel = kernel, .args = args, .arg_count = 3, .after = &held, .after_count = 1};
    planted_ok(weir_submit(all.context, &task, &all.events[i]));
  }
  atomic_store(&opened, true);
  weir_event_release(held);
  for (int i = 0; i < FAR_TASKS - 1; i++) {
    static const char *const nothing[] = {NULL};
    planted_expect(all.events[i], "far", nothing);
    expect_words(&all, i);
  }
  weir_finish(all.context);
  weir_event_release(all.events[FAR_TASKS - 1]);
  weir_kernel_release(kernel);
  close_batch(&all);
}

static uint64_t launches(void) {
  return stub_calls("cuLaunchKernel");
}

// Two runs of each task, and one launch of each of the checker's functions.
static void test_few_launches(void **state) {
  (void)state;
  batch all;
  open_batch(&all, WEIR_ISSUE_QUEUES);
  for (int count = 1; count <= TASKS; count += 23) {
    uint64_t before = launches(), copies = stub_calls("cuMemcpyAsync");
    submit(&all, count);
    weir_finish(all.context);
    assert_int_equal(launches() - before, 2 * count + 3);
    assert_int_equal(stub_calls("cuMemcpyAsync") - copies, count > 4 ? 1 : 0); // of regions, where they are many
    for (int i = 0; i < count; i++) {
      static const char *const nothing[] = {NULL};
      planted_expect(all.events[i], "right", nothing);
      expect_words(&all, i);
    }
  }
  close_batch(&all);
}

// Mistakes in some of them.
static void test_each_finding_is_its_task_s(void **state) {
  (void)state;
  static const struct {
    planted_kind kind;
    const char *parts[4];
  } cases[] = {
      {PLANTED_NOTHING, {NULL}},
      {PLANTED_ACCUMULATES, {NULL}}, // declared
      {PLANTED_PARTIAL, {"bytes [244, 260) were not overwritten", NULL}},
      {PLANTED_WRITES_BEHIND, {"bytes [260, 264) were changed, behind the buffer's 260 bytes", NULL}},
      {PLANTED_CHANGES, {"bytes [8, ", "were changed", NULL}},
      {PLANTED_READS_BEHIND, {"depends on bytes [260, 264), behind the buffer's 260 bytes", NULL}},
  };
  enum { CASES = sizeof cases / sizeof cases[0] };
  const char *given = getenv("WEIR_TEST_SEED");
  unsigned seed = given == NULL ? 1 : (unsigned)strtoul(given, NULL, 0);
  for (int round = 0; round < 6; round++) {
    batch all;
    uint32_t chosen[TASKS];
    open_batch(&all, round % 2 == 0 ? WEIR_ISSUE_AUTO : WEIR_ISSUE_QUEUES);
    for (int i = 0; i < TASKS; i++) {
      seed = seed * 1103515245U + 12345U;
      chosen[i] = (seed >> 16) % (round < 3 ? 2 * CASES : CASES); // few mistakes, or many
      if (chosen[i] >= CASES) chosen[i] = 0;
      all.kinds[i] = cases[chosen[i]].kind;
    }
    submit(&all, TASKS);
    weir_finish(all.context);
    for (int i = 0; i < TASKS; i++) {
      char what[64];
      snprintf(what, sizeof what, "round %d, task %d of kind %d", round, i, (int)all.kinds[i]);
      const char *const *parts = cases[chosen[i]].parts;
      planted_expect(all.events[i], what, parts);
      if (parts[0] == NULL) expect_words(&all, i);
    }
    close_batch(&all);
  }
}

// A launch that fails takes no other task with it, unless it is the one by which all get their results; and nobody gets them twice.
static void test_failing_launches(void **state) {
  (void)state;
  enum { COUNT = 5, ALL = COUNT + COUNT / 2 + 3 }; // updates of whole buffers run once
  for (int nth = 1; nth <= ALL + 2; nth++) {
    batch all;
    int failed = 0;
    open_batch(&all, WEIR_ISSUE_QUEUES);
    for (int i = 0; i < COUNT; i++) all.kinds[i] = i % 2 == 0 ? PLANTED_ACCUMULATES : PLANTED_NOTHING;
    stub_fail_nth("cuLaunchKernel", (uint64_t)nth, 1);
    submit(&all, COUNT);
    weir_finish(all.context);
    stub_fail_nth(NULL, 0, 0);
    for (int i = 0; i < COUNT; i++) {
      if (weir_event_wait(all.events[i], WEIR_FOREVER) != WEIR_OK)
        failed++;
      else
        expect_words(&all, i);
      weir_event_release(all.events[i]);
    }
    if (failed != (nth == ALL ? COUNT : 0)) fail_msg("launch %d: %d tasks failed", nth, failed);
    close_batch(&all);
  }
}

int main(void) {
  planted_use_stub();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_few_launches),
                                     cmocka_unit_test(test_each_finding_is_its_task_s),
                                     cmocka_unit_test(test_failing_launches), cmocka_unit_test(test_far_writes)};
  return cmocka_run_group_tests_name("check_mode_batch", tests, NULL, NULL);
}
