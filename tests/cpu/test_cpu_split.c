// SPDX-License-Identifier: Apache-2.0
//
// Launches of many work-groups: cut into ranges that cover them exactly once, by any number of workers.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/context.h"
#include "gate.h"
#include "meeting.h"

enum { MAX_GROUPS = 100003 };

static const uint32_t worker_counts[] = {1, 2, 5, 13};
enum { WORKER_COUNTS = sizeof worker_counts / sizeof worker_counts[0] };

typedef struct launch {
  uint32_t groups[3];
  uint64_t total;
  uint32_t loops; // how long a work-group takes
  atomic_uint calls, bad_calls;
  atomic_uchar runs[MAX_GROUPS];
  uint64_t fail_from, fail_step; // work-groups that fail; step 0: none
  atomic_uint failures;
} launch;

static void run_groups(const weir_work *work) {
  launch *self = work->user;
  atomic_fetch_add(&self->calls, 1);
  bool good = work->first < work->end && work->end <= self->total && work->arg_count == 1 &&
              memcmp(work->groups, self->groups, sizeof self->groups) == 0;
  if (!good) {
    atomic_fetch_add(&self->bad_calls, 1);
    return;
  }
  uint32_t *out = work->args[0];
  for (uint64_t group = work->first; group < work->end; group++) {
    atomic_fetch_add(&self->runs[group], 1);
    for (volatile uint32_t i = 0; i < self->loops; i++) continue;
    out[group]++;
    if (self->fail_step == 0 || group < self->fail_from || (group - self->fail_from) % self->fail_step != 0) continue;
    atomic_fetch_add(&self->failures, 1);
    weir_work_fail(work, "as told");
  }
}

static launch *self;

static int set_up(void **state) {
  (void)state;
  self = calloc(1, sizeof *self);
  return self == NULL;
}

static int tear_down(void **state) {
  (void)state;
  free(self);
  return 0;
}

static void prepare(uint32_t x, uint32_t y, uint32_t z, uint32_t loops) {
  memset(self, 0, sizeof *self);
  self->groups[0] = x;
  self->groups[1] = y;
  self->groups[2] = z;
  self->total = (uint64_t)x * y * z;
  self->loops = loops;
}

static weir_kernel *make_kernel(weir_context *context) {
  weir_kernel *kernel;
  assert_int_equal(weir_kernel_create(context, "groups", &kernel), WEIR_OK);
  assert_int_equal(weir_kernel_set_cpu(kernel, run_groups), WEIR_OK);
  return kernel;
}

static weir_task make_task(weir_kernel *kernel, const weir_arg *arg) {
  weir_task task = {.kernel = kernel, .user = self, .args = arg, .arg_count = 1};
  memcpy(task.groups, self->groups, sizeof task.groups);
  return task;
}

static uint32_t *zeroed(uint64_t count) {
  uint32_t *memory = calloc(count, sizeof *memory);
  assert_non_null(memory);
  return memory;
}

// Launches `times` times in a row; every work-group runs that often, in order with the same of the launch before.
static void check_cover(uint32_t workers, uint32_t times) {
  weir_context *context = open_cpu(workers);
  weir_kernel *kernel = make_kernel(context);
  uint32_t *memory = zeroed(self->total);
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_wrap(context, memory, self->total * sizeof *memory, &buffer), WEIR_OK);
  weir_arg arg = weir_updates(buffer);
  weir_task task = make_task(kernel, &arg);
  for (uint32_t i = 0; i < times; i++) assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  finish_all(context);
  weir_context_release(context);
  assert_int_equal(atomic_load(&self->bad_calls), 0);
  assert_true(atomic_load(&self->calls) >= times);
  for (uint64_t group = 0; group < self->total; group++) {
    assert_int_equal(atomic_load(&self->runs[group]), times);
    assert_int_equal(memory[group], times);
  }
  free(memory);
}

static void every_group_runs_once(void **state) {
  (void)state;
  const uint32_t shapes[][3] = {{1, 1, 1},  {2, 1, 1},   {1, 7, 1},         {13, 1, 1},
                                {1, 1, 27}, {64, 32, 4}, {MAX_GROUPS, 1, 1}};
  for (size_t w = 0; w < WORKER_COUNTS; w++) {
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
      prepare(shapes[i][0], shapes[i][1], shapes[i][2], 10);
      check_cover(worker_counts[w], 4);
    }
  }
}

static void long_groups_are_split(void **state) {
  (void)state;
  for (size_t w = 0; w < WORKER_COUNTS; w++) {
    prepare(1000, 1, 1, 3000);
    check_cover(worker_counts[w], 3);
    if (worker_counts[w] == 1)
      assert_int_equal(atomic_load(&self->calls), 3);
    else
      assert_true(atomic_load(&self->calls) > 3);
  }
}

static void short_launches_are_not_split(void **state) {
  (void)state;
  prepare(2, 1, 1, 0);
  check_cover(13, 100);
  assert_true(atomic_load(&self->calls) < 200); // once it is known how short they are
}

static void groups_of_zero_count_as_one(void **state) {
  (void)state;
  prepare(1, 5, 1, 10);
  weir_context *context = open_cpu(2);
  weir_kernel *kernel = make_kernel(context);
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_create(context, 5 * sizeof(uint32_t), &buffer), WEIR_OK);
  weir_arg arg = weir_writes(buffer);
  weir_task task = make_task(kernel, &arg);
  task.groups[0] = task.groups[2] = 0;
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  finish_all(context);
  weir_context_release(context);
  assert_int_equal(atomic_load(&self->bad_calls), 0);
  for (int group = 0; group < 5; group++) assert_int_equal(atomic_load(&self->runs[group]), 1);
}

// All workers take part in a launch with enough long work-groups.
static void all_workers_share_a_launch(void **state) {
  (void)state;
  for (size_t w = 0; w < WORKER_COUNTS; w++) {
    for (int round = 0; round < 10; round++) {
      weir_context *context = open_cpu(worker_counts[w]);
      meeting all;
      meeting_initialize(&all, worker_counts[w]);
      weir_kernel *kernel;
      assert_int_equal(weir_kernel_create(context, "meeting", &kernel), WEIR_OK);
      assert_int_equal(weir_kernel_set_cpu(kernel, meeting_attend), WEIR_OK);
      weir_task task = {.kernel = kernel, .user = &all, .groups = {worker_counts[w], 1, 1}};
      assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
      finish_all(context);
      assert_true(meeting_held(&all));
      weir_context_release(context);
    }
  }
}

static void check_failure(uint32_t workers, uint64_t fail_from, uint64_t fail_step) {
  prepare(500, 1, 1, 1000);
  self->fail_from = fail_from;
  self->fail_step = fail_step;
  weir_context *context = open_cpu(workers);
  weir_kernel *kernel = make_kernel(context);
  weir_buffer *buffer, *copy;
  assert_int_equal(weir_buffer_create(context, 500 * sizeof(uint32_t), &buffer), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, 500 * sizeof(uint32_t), &copy), WEIR_OK);
  weir_arg arg = weir_writes(buffer);
  weir_task task = make_task(kernel, &arg);
  for (int round = 0; round < 20; round++) { // a pool of jobs that are used again
    memset(self->runs, 0, sizeof self->runs);
    weir_event *launched, *copied;
    assert_int_equal(weir_submit(context, &task, &launched), WEIR_OK);
    assert_int_equal(weir_copy(copy, 0, buffer, 0, 2000, &copied), WEIR_OK);
    assert_int_equal(weir_event_wait(launched, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
    assert_non_null(strstr(weir_event_message(launched), "as told"));
    assert_int_equal(weir_event_wait(copied, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
    for (int group = 0; group < 500; group++) assert_true(atomic_load(&self->runs[group]) <= 1);
    weir_event_release(launched);
    weir_event_release(copied);
    assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
  }
  self->fail_step = 0; // and then one that goes well
  memset(self->runs, 0, sizeof self->runs);
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  finish_all(context);
  for (int group = 0; group < 500; group++) assert_int_equal(atomic_load(&self->runs[group]), 1);
  weir_context_release(context);
}

static void parts_that_fail(void **state) {
  (void)state;
  for (size_t w = 0; w < WORKER_COUNTS; w++) {
    check_failure(worker_counts[w], 0, 1000); // the first
    check_failure(worker_counts[w], 499, 1);  // the last
    check_failure(worker_counts[w], 0, 1);    // every one
    check_failure(worker_counts[w], 3, 50);
  }
}

// Launches that are not to run: their data is poisoned, or they were cancelled.
static void launches_that_are_skipped(void **state) {
  (void)state;
  for (size_t w = 0; w < WORKER_COUNTS; w++) {
    prepare(500, 1, 1, 1000);
    weir_context *context = open_cpu(worker_counts[w]);
    weir_kernel *kernel = make_kernel(context);
    weir_buffer *buffer;
    assert_int_equal(weir_buffer_create(context, 500 * sizeof(uint32_t), &buffer), WEIR_OK);
    weir_arg writes = weir_writes(buffer), updates = weir_updates(buffer);
    weir_task task = make_task(kernel, &writes);
    self->fail_step = 1;
    assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
    assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
    unsigned calls = atomic_load(&self->calls);
    task.args = &updates;
    weir_event *event;
    assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
    assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
    weir_event_release(event);
    gate closed = {0};
    assert_int_equal(gate_submit(context, &closed, &writes, 1, NULL), WEIR_OK);
    gate_await(&closed, 1);
    assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
    weir_context_cancel(context);
    gate_open(&closed);
    assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_CANCELLED);
    weir_event_release(event);
    assert_int_equal(atomic_load(&self->calls), calls);
    weir_context_release(context);
  }
}

// In a timeline every part of a launch is a span of its task, on the worker that ran it.
static void parts_are_traced(void **state) {
  (void)state;
  prepare(1000, 1, 1, 1000);
  weir_context *context;
  weir_context_options options = {.devices = "cpu:3", .flags = WEIR_CONTEXT_TRACE};
  assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
  weir_kernel *kernel = make_kernel(context);
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_create(context, 1000 * sizeof(uint32_t), &buffer), WEIR_OK);
  weir_arg arg = weir_writes(buffer);
  weir_task task = make_task(kernel, &arg);
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  finish_all(context);
  const weir__trace_task *record = weir__trace_find(context->host.trace, 1);
  assert_non_null(record);
  assert_int_equal(record->status, WEIR_OK);
  assert_int_equal(record->span_count, atomic_load(&self->calls));
  for (uint32_t i = 0; i < record->span_count; i++) {
    const weir__trace_span *span = &record->spans[i];
    assert_true(span->lane < 3);
    assert_true(record->start_ns <= span->start_ns && span->start_ns <= span->end_ns && span->end_ns <= record->end_ns);
  }
  weir_context_release(context);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(every_group_runs_once),       TEST(long_groups_are_split),      TEST(short_launches_are_not_split),
      TEST(groups_of_zero_count_as_one), TEST(all_workers_share_a_launch), TEST(parts_that_fail),
      TEST(launches_that_are_skipped),   TEST(parts_are_traced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
