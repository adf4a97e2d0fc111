// SPDX-License-Identifier: Apache-2.0
//
// Finishing, cancelling, releasing a context with work in flight, statistics, priorities, in-order execution.
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "weir/graph.h"

static void finish_tells_of_the_first_failure_once(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_kernel *kernel = api_kernel(context, "culprit", api_fail);
  weir_task task = {.kernel = kernel, .tag = 31};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  task = (weir_task){.host = api_fail, .tag = 32};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  api_expect(weir_finish(context), WEIR_ERROR_TASK_FAILED, "culprit", "on purpose", "31", NULL);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  api_expect(weir_finish_for(context, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED, "32", NULL);
  weir_context_release(context);
}

static void time_out_keeps_the_failure_for_later(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  gate door = {0};
  assert_int_equal(api_await(api_submit_host(context, api_fail, NULL, NULL, 0)), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(gate_submit(context, &door, NULL, 0, NULL), WEIR_OK);
  api_expect(weir_finish_for(context, 1000), WEIR_TIMEOUT, "task 2 'gate'", "on cpu:2", NULL);
  gate_open(&door);
  assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_context_release(context);
}

typedef struct slow_profile {
  pthread_t main;
  gate door;
} slow_profile;

static void stand_in_the_door(void *user, const weir_profile_event *event) {
  slow_profile *self = user;
  if (event->what == WEIR_PROFILE_END && !pthread_equal(pthread_self(), self->main))
    gate_function(&(weir_work){.user = &self->door});
}

// A profile function that stays away, on the thread of a worker, does not keep a wait beyond its time-out.
static void time_out_is_kept_while_a_profile_is_delivered(void **state) {
  (void)state;
  slow_profile profile = {.main = pthread_self()};
  weir_context *context;
  const weir_context_options options = {.devices = "cpu:1", .profile = stand_in_the_door, .profile_user = &profile};
  assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
  atomic_bool ran = false;
  do { // this thread may be told of an end while it submits
    assert_int_equal(weir_submit(context, &(weir_task){.host = api_set_flag, .user = &ran}, NULL), WEIR_OK);
    usleep(1000);
  } while (atomic_load(&profile.door.entered) == 0);
  api_expect(weir_finish_for(context, 50000000), WEIR_TIMEOUT, "finish", NULL);
  gate_open(&profile.door);
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_context_release(context);
}

static void cancel_skips_what_has_not_started(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  gate door = {0};
  atomic_bool ran = false;
  weir_buffer *number = api_number(context, 1), *held = api_number(context, 4), *sum = api_number(context, 0);
  weir_arg hold = weir_updates(held);
  weir_event *running = NULL;
  assert_int_equal(gate_submit(context, &door, &hold, 1, &running), WEIR_OK);
  gate_await(&door, 1);
  weir_arg args[] = {weir_updates(number)};
  weir_event *skipped = api_submit_host(context, api_set_flag, &ran, args, 1);
  weir_context_cancel(context);
  weir_arg later_args[] = {weir_reads(held), weir_updates(sum)};
  weir_event *later = api_submit_host(context, api_add, NULL, later_args, 2);
  later_args[0] = weir_reads(number);
  weir_event *poisoned = api_submit_host(context, api_add, NULL, later_args, 2);
  gate_open(&door);
  assert_int_equal(api_await(running), WEIR_OK);
  assert_int_equal(api_await(skipped), WEIR_ERROR_CANCELLED);
  assert_int_equal(api_await(later), WEIR_OK);
  assert_int_equal(api_await(poisoned), WEIR_ERROR_UPSTREAM_FAILED);
  assert_false(atomic_load(&ran));
  uint64_t value;
  assert_int_equal(api_read(number, 0, 8, &value), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(weir_finish(context), WEIR_ERROR_CANCELLED);
  weir_context_release(context);
}

static void cancelling_an_idle_context_does_nothing(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  weir_context_cancel(context);
  weir_buffer *number = api_number(context, 3);
  weir_context_cancel(context);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(api_read_number(number), 3);
  weir_context_release(context);
}

static void release_waits_for_tasks_in_flight(void **state) {
  (void)state;
  uint64_t memory = 0, one = 1;
  weir_context *context = api_context("cpu:2", 0, 0);
  weir_buffer *number = NULL;
  assert_int_equal(weir_buffer_wrap(context, &memory, sizeof memory, &number), WEIR_OK);
  weir_arg args[] = {weir_value(&one, sizeof one), weir_updates(number)};
  weir_kernel *kernel = api_kernel(context, "add", api_add);
  for (int i = 0; i < 5000; i++) {
    weir_task task = {.kernel = kernel, .args = args, .arg_count = 2};
    assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  }
  weir_context_release(context);
  assert_int_equal(memory, 5000);
}

static void cancelled_context_is_released_soon(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  gate door = {0};
  atomic_bool ran = false;
  assert_int_equal(gate_submit(context, &door, NULL, 0, NULL), WEIR_OK);
  gate_await(&door, 1);
  for (int i = 0; i < 100; i++) {
    weir_task task = {.host = api_set_flag, .user = &ran};
    assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  }
  weir_context_cancel(context);
  gate_open(&door);
  weir_context_release(context);
  assert_false(atomic_load(&ran));
  assert_int_equal(atomic_load(&door.passed), 1);
}

static void release_the_context(const weir_work *work) {
  weir_status *found = work->user;
  *found = weir_context_release(*(weir_context **)work->args[0]);
}

static void a_task_cannot_release_the_context(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  weir_status found = WEIR_OK;
  weir_arg arg = weir_value(&context, sizeof context);
  assert_int_equal(api_await(api_submit_host(context, release_the_context, &found, &arg, 1)), WEIR_OK);
  assert_int_equal(found, WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir_context_release(context), WEIR_OK);
}

static void released_context_takes_everything_along(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, WEIR_CONTEXT_TRACE);
  weir_graph *graph = NULL;
  for (int i = 0; i < 50; i++) {
    weir_buffer *number = api_number(context, 1);
    weir_kernel *kernel = api_kernel(context, "left behind", api_nothing);
    weir_arg arg = weir_updates(number);
    api_submit(context, kernel, &arg, 1);
    assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
    weir_task task = {.kernel = kernel, .args = &arg, .arg_count = 1};
    assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
    assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
  }
  weir_context_release(context);
}

static void statistics_count_tasks(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 64, 0);
  weir_statistics statistics;
  weir_buffer *number = api_number(context, 1);
  weir_arg read = weir_reads(number);
  api_await(api_submit_host(context, api_fail, NULL, NULL, 0));
  api_await(api_submit_host(context, api_nothing, NULL, &read, 1));
  weir_context_statistics(context, &statistics);
  assert_int_equal(statistics.tasks, 3);
  assert_int_equal(statistics.done, 3);
  assert_int_equal(statistics.failed, 1);
  assert_int_equal(statistics.renamed, 0);
  assert_int_equal(statistics.window_waits, 0);
  assert_int_equal(statistics.window, 64);
  assert_true(statistics.bytes >= 8 && statistics.peak_bytes >= statistics.bytes);
  gate door = {0};
  assert_int_equal(gate_submit(context, &door, &read, 1, NULL), WEIR_OK);
  weir_arg update = weir_updates(number);
  weir_event *event = api_submit_host(context, api_nothing, NULL, &update, 1);
  weir_statistics after;
  weir_context_statistics(context, &after);
  assert_int_equal(after.edges, statistics.edges + 1);
  assert_int_equal(after.tasks, 5);
  assert_int_equal(after.done, 3);
  gate_open(&door);
  api_await(event);
  weir_context_release(context);
}

enum { ORDERED = 24 };

typedef struct order_log {
  atomic_uint count;
  unsigned order[ORDERED];
} order_log;

static void log_order(const weir_work *work) {
  order_log *log = work->user;
  unsigned number;
  memcpy(&number, work->args[0], sizeof number);
  log->order[atomic_fetch_add(&log->count, 1)] = number;
}

// With one worker, the ready task of the highest priority is next.
static void higher_priority_starts_first(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  gate door = {0};
  order_log log = {0};
  assert_int_equal(gate_submit(context, &door, NULL, 0, NULL), WEIR_OK);
  gate_await(&door, 1);
  int32_t priorities[ORDERED];
  for (unsigned i = 0; i < ORDERED; i++) {
    priorities[i] = (int32_t)(i * 5 % 8) + WEIR_PRIORITY_LOWEST;
    weir_arg arg = weir_value(&i, sizeof i);
    weir_task task = {.host = log_order, .user = &log, .args = &arg, .arg_count = 1, .priority = priorities[i]};
    assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  }
  gate_open(&door);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(atomic_load(&log.count), ORDERED);
  for (unsigned i = 1; i < ORDERED; i++) assert_true(priorities[log.order[i - 1]] >= priorities[log.order[i]]);
  weir_context_release(context);
}

static void in_order_context_runs_tasks_in_order(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:4", 0, WEIR_CONTEXT_IN_ORDER);
  order_log log = {0};
  for (unsigned i = 0; i < ORDERED; i++) {
    weir_arg arg = weir_value(&i, sizeof i);
    weir_task task = {.host = log_order, .user = &log, .args = &arg, .arg_count = 1};
    task.priority = i % 2 == 0 ? WEIR_PRIORITY_LOWEST : WEIR_PRIORITY_HIGHEST;
    assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  }
  assert_int_equal(weir_finish(context), WEIR_OK);
  for (unsigned i = 0; i < ORDERED; i++) assert_int_equal(log.order[i], i);
  weir_context_release(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finish_tells_of_the_first_failure_once),
      cmocka_unit_test(time_out_keeps_the_failure_for_later),
      cmocka_unit_test(time_out_is_kept_while_a_profile_is_delivered),
      cmocka_unit_test(cancel_skips_what_has_not_started),
      cmocka_unit_test(cancelling_an_idle_context_does_nothing),
      cmocka_unit_test(release_waits_for_tasks_in_flight),
      cmocka_unit_test(cancelled_context_is_released_soon),
      cmocka_unit_test(a_task_cannot_release_the_context),
      cmocka_unit_test(released_context_takes_everything_along),
      cmocka_unit_test(statistics_count_tasks),
      cmocka_unit_test(higher_priority_starts_first),
      cmocka_unit_test(in_order_context_runs_tasks_in_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
