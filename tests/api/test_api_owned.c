// SPDX-License-Identifier: Apache-2.0
//
// Data that a task owns: freed exactly once, however the task ends.
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "random.h"
#include "weir/graph.h"

typedef struct owned {
  atomic_uint freed;
  atomic_uint *all_freed; // of several; NULL: none
} owned;

static void free_it(void *user) {
  owned *data = user;
  atomic_fetch_add(&data->freed, 1);
  if (data->all_freed != NULL) atomic_fetch_add(data->all_freed, 1);
}

// Ends the test if the data was freed before the function ran.
static void use(const weir_work *work) {
  const owned *data = work->user;
  if (atomic_load(&data->freed) != 0) abort();
}

static void use_and_fail(const weir_work *work) {
  use(work);
  weir_work_fail(work, "on purpose");
}

static weir_task owning(weir_function function, owned *data, const weir_arg *args, uint32_t arg_count) {
  return (weir_task){.host = function, .user = data, .args = args, .arg_count = arg_count, .destroy = free_it};
}

static void is_freed_before_the_event_is_done(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  for (int i = 0; i < 500; i++) {
    owned data = {0};
    weir_task task = owning(i % 2 == 0 ? use : use_and_fail, &data, NULL, 0);
    weir_event *event;
    assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
    assert_int_equal(api_await(event), i % 2 == 0 ? WEIR_OK : WEIR_ERROR_TASK_FAILED);
    assert_int_equal(atomic_load(&data.freed), 1);
  }
  assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(weir_context_release(context), WEIR_OK);
}

static void is_freed_before_finish_returns(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  for (int i = 0; i < 500; i++) {
    owned data = {0};
    weir_task task = owning(use, &data, NULL, 0);
    assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
    assert_int_equal(weir_finish(context), WEIR_OK);
    assert_int_equal(atomic_load(&data.freed), 1);
  }
  weir_context_release(context);
}

static void is_freed_of_skipped_tasks(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_buffer *number = api_number(context, 1);
  weir_arg update = weir_updates(number);
  gate door = {0};
  owned failed = {0}, skipped = {0}, cancelled = {0};
  weir_task task = owning(use_and_fail, &failed, &update, 1);
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  task.user = &skipped;
  weir_event *event;
  assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
  assert_int_equal(api_await(event), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(atomic_load(&failed.freed), 1);
  assert_int_equal(atomic_load(&skipped.freed), 1);
  assert_int_equal(gate_submit(context, &door, NULL, 0, NULL), WEIR_OK);
  gate_await(&door, 1);
  task = owning(use, &cancelled, NULL, 0);
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  weir_context_cancel(context);
  assert_int_equal(atomic_load(&cancelled.freed), 0);
  gate_open(&door);
  weir_context_release(context);
  assert_int_equal(atomic_load(&cancelled.freed), 1);
}

static void stays_the_callers_if_the_submission_is_refused(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_buffer *number = api_number(context, 1);
  weir_arg outside = weir_reads_range(number, 4, 8);
  owned data = {0};
  weir_task task = owning(use, &data, &outside, 1);
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_ERROR_OUT_OF_RANGE);
  task.args = NULL;
  task.arg_count = 0;
  weir_graph *graph;
  assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
  api_expect(weir_graph_add(graph, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, "destroy", NULL);
  weir_context_release(context);
  assert_int_equal(atomic_load(&data.freed), 0);
}

typedef struct submitting {
  owned data;
  weir_context *context;
  atomic_uint *later;
} submitting;

static void submit_another(void *user) {
  submitting *self = user;
  weir_task task = {.host = api_nothing, .user = self->later, .destroy = NULL};
  if (weir_submit(self->context, &task, NULL) == WEIR_OK) atomic_fetch_add(self->later, 1);
  if (weir_finish(self->context) == WEIR_ERROR_INVALID_ARGUMENT) atomic_fetch_add(self->later, 1);
}

static void freeing_may_submit_and_not_wait(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  atomic_uint later = 0;
  submitting self = {.context = context, .later = &later};
  weir_task task = {.host = api_nothing, .user = &self, .destroy = submit_another};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(atomic_load(&later), 2);
  weir_context_release(context);
}

enum { TASKS = 600, BUFFERS = 4 };

static void random_tasks_free_once(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 4; seed++) {
    weir_context_options options = {.devices = "cpu:2", .window = 16, .seed = seed};
    weir_context *context;
    assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
    random_state random = {seed};
    weir_buffer *buffers[BUFFERS];
    for (int i = 0; i < BUFFERS; i++) buffers[i] = api_number(context, 0);
    atomic_uint all = 0;
    owned *data = calloc(TASKS, sizeof *data);
    for (int i = 0; i < TASKS; i++) {
      weir_arg arg = random_below(&random, 2) == 0 ? weir_updates(buffers[random_below(&random, BUFFERS)])
                                                   : weir_writes(buffers[random_below(&random, BUFFERS)]);
      data[i].all_freed = &all;
      weir_task task = owning(random_below(&random, 8) == 0 ? use_and_fail : use, &data[i], &arg, 1);
      weir_event *event = NULL;
      assert_int_equal(weir_submit(context, &task, random_below(&random, 2) == 0 ? &event : NULL), WEIR_OK);
      weir_event_release(event);
      if (random_below(&random, 100) == 0) weir_context_cancel(context);
    }
    (void)weir_finish(context);
    assert_int_equal(atomic_load(&all), TASKS);
    for (int i = 0; i < TASKS; i++) assert_int_equal(atomic_load(&data[i].freed), 1);
    free(data);
    weir_context_release(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_freed_before_the_event_is_done),
      cmocka_unit_test(is_freed_before_finish_returns),
      cmocka_unit_test(is_freed_of_skipped_tasks),
      cmocka_unit_test(stays_the_callers_if_the_submission_is_refused),
      cmocka_unit_test(freeing_may_submit_and_not_wait),
      cmocka_unit_test(random_tasks_free_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
