// SPDX-License-Identifier: Apache-2.0
//
// Events: poll, wait, time-outs, callbacks, explicit order.
#include <string.h>
#include <unistd.h>

#include "api.h"

static weir_context *context;

static int set_up(void **state) {
  (void)state;
  context = api_context("cpu:2", 0, 0);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  weir_context_release(context);
  return 0;
}

static void events_follow_their_task(void **state) {
  (void)state;
  gate door = {0};
  weir_event *event = NULL;
  assert_int_equal(gate_submit(context, &door, NULL, 0, &event), WEIR_OK);
  assert_int_equal(weir_event_poll(event), WEIR_PENDING);
  assert_string_equal(weir_event_message(event), "");
  gate_open(&door);
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_OK);
  assert_int_equal(weir_event_poll(event), WEIR_OK);
  assert_int_equal(weir_event_wait(event, 0), WEIR_OK);
  assert_string_equal(weir_event_message(event), "");
  weir_event_release(event);
  weir_event_release(NULL);
}

static void time_outs_change_nothing(void **state) {
  (void)state;
  gate door = {0};
  weir_event *event = NULL;
  assert_int_equal(gate_submit(context, &door, NULL, 0, &event), WEIR_OK);
  for (uint64_t timeout = 0; timeout < 3000000; timeout = timeout * 7 + 1)
    assert_int_equal(weir_event_wait(event, timeout), WEIR_TIMEOUT);
  assert_int_equal(weir_finish_for(context, 1000000), WEIR_TIMEOUT);
  assert_int_equal(weir_finish_for(context, 0), WEIR_TIMEOUT);
  assert_int_equal(weir_event_poll(event), WEIR_PENDING);
  gate_open(&door);
  assert_int_equal(weir_event_wait(event, UINT64_MAX - 1), WEIR_OK);
  assert_int_equal(weir_finish_for(context, UINT64_MAX - 1), WEIR_OK);
  assert_int_equal(weir_finish_for(context, 0), WEIR_OK);
  assert_int_equal(atomic_load(&door.passed), 1);
  weir_event_release(event);
}

static void failed_task_tells_why(void **state) {
  (void)state;
  weir_kernel *kernel = api_kernel(context, "doomed", api_fail);
  weir_task task = {.kernel = kernel, .tag = 4711};
  weir_event *event = NULL;
  assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(weir_event_poll(event), WEIR_ERROR_TASK_FAILED);
  assert_non_null(strstr(weir_event_message(event), "on purpose"));
  assert_non_null(strstr(weir_event_message(event), "doomed"));
  assert_non_null(strstr(weir_event_message(event), "4711"));
  weir_event_release(event);
}

static void last_error_is_that_of_the_wait(void **state) {
  (void)state;
  gate door = {0};
  weir_event *failed = api_submit_host(context, api_fail, NULL, NULL, 0), *held = NULL;
  assert_int_equal(weir_submit(context, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  api_expect(weir_event_wait(failed, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED, "event wait", "on purpose", NULL);
  assert_int_equal(gate_submit(context, &door, NULL, 0, &held), WEIR_OK);
  api_expect(weir_event_wait(held, 1000), WEIR_TIMEOUT, "event wait", "not done", NULL);
  gate_open(&door);
  assert_int_equal(api_await(held), WEIR_OK);
  weir_event_release(failed);
}

static void read_waits_for_the_bytes(void **state) {
  (void)state;
  weir_buffer *number = api_number(context, 7), *poisoned = api_number(context, 1);
  uint64_t value = 0;
  for (int i = 0; i < 100; i++) {
    weir_buffer *one = api_number(context, 1);
    weir_arg add[] = {weir_reads(one), weir_updates(number)};
    weir_event_release(api_submit_host(context, api_add, NULL, add, 2));
    assert_int_equal(weir_read(number, 0, WEIR_WHOLE, &value), WEIR_OK);
    assert_int_equal(value, 8 + i);
    assert_int_equal(weir_buffer_release(one), WEIR_OK);
  }
  weir_arg update = weir_updates(poisoned);
  weir_event_release(api_submit_host(context, api_fail, NULL, &update, 1));
  api_expect(weir_read(poisoned, 0, 8, &value), WEIR_ERROR_UPSTREAM_FAILED, "read: task", NULL);
  assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(weir_finish(context), WEIR_OK);
  api_expect(weir_read(number, 4, 8, &value), WEIR_ERROR_OUT_OF_RANGE, "8 bytes", NULL);
  assert_int_equal(weir_read(NULL, 0, 8, &value), WEIR_ERROR_INVALID_ARGUMENT);
}

static void fail_at_length(const weir_work *work) {
  char text[500];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  weir_work_fail(work, text);
}

static void fail_silently(const weir_work *work) {
  weir_work_fail(work, NULL);
}

static void messages_are_cut_at_255_bytes(void **state) {
  (void)state;
  weir_event *event = api_submit_host(context, fail_at_length, NULL, NULL, 0);
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
  const char *first = strchr(weir_event_message(event), 'x');
  assert_non_null(first);
  size_t length = strspn(strstr(weir_event_message(event), "xxxx"), "x");
  assert_int_equal(length, 255);
  weir_event_release(event);
  event = api_submit_host(context, fail_silently, NULL, NULL, 0);
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
  assert_true(strlen(weir_event_message(event)) > 0);
  weir_event_release(event);
}

enum { CALLBACKS = 50 };

typedef struct callback_log {
  atomic_uint count;
  int order[2 * CALLBACKS];
  weir_status status;
} callback_log;

typedef struct callback_entry {
  callback_log *log;
  int number;
} callback_entry;

static void log_callback(void *user, weir_status status) {
  callback_entry *entry = user;
  unsigned at = atomic_load(&entry->log->count);
  entry->log->order[at] = entry->number;
  entry->log->status = status;
  atomic_store(&entry->log->count, at + 1);
}

static void callbacks_are_called_in_order(void **state) {
  (void)state;
  gate door = {0};
  weir_event *event = NULL;
  static callback_log log;
  static callback_entry entries[CALLBACKS];
  assert_int_equal(gate_submit(context, &door, NULL, 0, &event), WEIR_OK);
  for (int i = 0; i < CALLBACKS; i++) {
    entries[i] = (callback_entry){&log, i};
    assert_int_equal(weir_event_on_done(event, log_callback, &entries[i]), WEIR_OK);
  }
  assert_int_equal(atomic_load(&log.count), 0);
  gate_open(&door);
  weir_event_release(event); // they are still called
  while (atomic_load(&log.count) < CALLBACKS) usleep(100);
  for (int i = 0; i < CALLBACKS; i++) assert_int_equal(log.order[i], i);
  assert_int_equal(log.status, WEIR_OK);
}

static void late_callback_is_called_at_once(void **state) {
  (void)state;
  weir_event *event = api_submit_host(context, api_fail, NULL, NULL, 0);
  weir_event_wait(event, WEIR_FOREVER);
  callback_log log = {0};
  callback_entry entry = {&log, 9};
  assert_int_equal(weir_event_on_done(event, log_callback, &entry), WEIR_OK);
  assert_int_equal(atomic_load(&log.count), 1);
  assert_int_equal(log.order[0], 9);
  assert_int_equal(log.status, WEIR_ERROR_TASK_FAILED);
  weir_event_release(event);
}

typedef struct relay {
  weir_event *event;
  weir_buffer *number;
  atomic_int left;
  atomic_int wrong;
} relay;

// Submits the next task from the callback of the one before, and releases the event that called it.
static void submit_next(void *user, weir_status status) {
  relay *self = user;
  weir_event_release(self->event);
  self->event = NULL;
  if (status != WEIR_OK) atomic_fetch_add(&self->wrong, 1);
  uint64_t one = 1;
  weir_arg args[] = {weir_value(&one, sizeof one), weir_updates(self->number)};
  weir_task task = {.host = api_add, .args = args, .arg_count = 2};
  bool more = atomic_load(&self->left) > 1;
  if (weir_submit(context, &task, more ? &self->event : NULL) != WEIR_OK) atomic_fetch_add(&self->wrong, 1);
  weir_event *event = self->event;
  atomic_fetch_sub(&self->left, 1);
  if (more && weir_event_on_done(event, submit_next, self) != WEIR_OK) atomic_fetch_add(&self->wrong, 1);
}

static void callbacks_may_submit(void **state) {
  (void)state;
  static relay self;
  self = (relay){.number = api_number(context, 0)};
  atomic_store(&self.left, 100);
  self.event = api_submit_host(context, api_nothing, NULL, NULL, 0);
  weir_event *event = self.event;
  assert_int_equal(weir_event_on_done(event, submit_next, &self), WEIR_OK);
  while (atomic_load(&self.left) > 0) usleep(100);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(atomic_load(&self.wrong), 0);
  assert_int_equal(api_read_number(self.number), 100);
}

static weir_status submitted_in_full_window;
static atomic_bool ran_from_full_window;

static void submit_into_full_window(void *user, weir_status status) {
  (void)status;
  weir_task task = {.host = api_set_flag, .user = &ran_from_full_window};
  submitted_in_full_window = weir_submit(user, &task, NULL);
}

// The window has 8 slots: one blocked at its head keeps all that follow in it. What the callback submits is queued.
static void callback_never_waits_for_the_window(void **state) {
  (void)state;
  weir_context *small = api_context("cpu:2", 8, 0);
  gate door = {0};
  assert_int_equal(gate_submit(small, &door, NULL, 0, NULL), WEIR_OK);
  for (int i = 0; i < 6; i++) assert_int_equal(api_await(api_submit_host(small, api_nothing, NULL, NULL, 0)), WEIR_OK);
  weir_event *event = api_submit_host(small, api_nothing, NULL, NULL, 0);
  weir_event_wait(event, WEIR_FOREVER);
  submitted_in_full_window = WEIR_PENDING;
  atomic_store(&ran_from_full_window, false);
  assert_int_equal(weir_event_on_done(event, submit_into_full_window, small), WEIR_OK);
  assert_int_equal(submitted_in_full_window, WEIR_OK);
  assert_false(atomic_load(&ran_from_full_window));
  gate_open(&door);
  assert_int_equal(weir_finish(small), WEIR_OK);
  assert_true(atomic_load(&ran_from_full_window));
  weir_event_release(event);
  weir_context_release(small);
}

static void set_if_flag(const weir_work *work) {
  atomic_int *seen = work->user;
  atomic_store(&seen[1], atomic_load(&seen[0]));
}

static void set_slowly(const weir_work *work) {
  usleep(2000);
  atomic_store((atomic_int *)work->user, 1);
}

static void fail_slowly(const weir_work *work) {
  set_slowly(work);
  weir_work_fail(work, NULL);
}

static void explicit_order_holds(void **state) {
  (void)state;
  for (int i = 0; i < 10; i++) {
    atomic_int seen[2] = {0, 0};
    weir_event *first = api_submit_host(context, i % 2 == 0 ? set_slowly : fail_slowly, seen, NULL, 0);
    weir_event *both[] = {first, first};
    weir_task task = {.host = set_if_flag, .user = seen, .after = both, .after_count = 2};
    weir_event *second = NULL;
    assert_int_equal(weir_submit(context, &task, &second), WEIR_OK);
    weir_event_release(first);
    assert_int_equal(api_await(second), WEIR_OK); // a failure among `after` does not skip the task
    assert_int_equal(atomic_load(&seen[1]), 1);
  }
}

static void finished_event_in_after_is_no_wait(void **state) {
  (void)state;
  weir_event *first = api_submit_host(context, api_nothing, NULL, NULL, 0);
  weir_event_wait(first, WEIR_FOREVER);
  weir_task task = {.host = api_nothing, .after = &first, .after_count = 1};
  weir_event *second = NULL;
  assert_int_equal(weir_submit(context, &task, &second), WEIR_OK);
  assert_int_equal(api_await(second), WEIR_OK);
  weir_event_release(first);
}

static void misuse_is_refused(void **state) {
  (void)state;
  api_expect(weir_event_poll(NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_event_wait(NULL, 0), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_event_on_done(NULL, log_callback, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  weir_event *event = api_submit_host(context, api_nothing, NULL, NULL, 0);
  api_expect(weir_event_on_done(event, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  weir_event_wait(event, WEIR_FOREVER);
  weir_event_release(event);
  api_expect(weir_event_poll(event), WEIR_ERROR_RELEASED, NULL);
  api_expect(weir_event_wait(event, 0), WEIR_ERROR_RELEASED, NULL);
  api_expect(weir_event_on_done(event, log_callback, NULL), WEIR_ERROR_RELEASED, NULL);
  weir_task task = {.host = api_nothing, .after = &event, .after_count = 1};
  api_expect(weir_submit(context, &task, NULL), WEIR_ERROR_RELEASED, NULL);
  weir_event_release(event); // harmless
  api_expect(weir_finish(NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
}

static void wait_inside(const weir_work *work) {
  weir_status *statuses = work->user;
  statuses[0] = weir_finish(context);
}

static void tasks_may_not_wait(void **state) {
  (void)state;
  weir_status status = WEIR_OK;
  assert_int_equal(api_await(api_submit_host(context, wait_inside, &status, NULL, 0)), WEIR_OK);
  assert_int_equal(status, WEIR_ERROR_INVALID_ARGUMENT);
}

static void submit_inside(const weir_work *work) {
  relay *self = work->user;
  uint64_t one = 1;
  weir_arg args[] = {weir_value(&one, sizeof one), weir_updates(self->number)};
  weir_task task = {.host = api_add, .args = args, .arg_count = 2};
  if (weir_submit(context, &task, NULL) != WEIR_OK) atomic_fetch_add(&self->wrong, 1);
}

static void tasks_may_submit(void **state) {
  (void)state;
  relay self = {.number = api_number(context, 0)};
  for (int i = 0; i < 50; i++)
    assert_int_equal(api_await(api_submit_host(context, submit_inside, &self, NULL, 0)), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(atomic_load(&self.wrong), 0);
  assert_int_equal(api_read_number(self.number), 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(events_follow_their_task, set_up, tear_down),
      cmocka_unit_test_setup_teardown(time_outs_change_nothing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(failed_task_tells_why, set_up, tear_down),
      cmocka_unit_test_setup_teardown(last_error_is_that_of_the_wait, set_up, tear_down),
      cmocka_unit_test_setup_teardown(read_waits_for_the_bytes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(messages_are_cut_at_255_bytes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(callbacks_are_called_in_order, set_up, tear_down),
      cmocka_unit_test_setup_teardown(late_callback_is_called_at_once, set_up, tear_down),
      cmocka_unit_test_setup_teardown(callbacks_may_submit, set_up, tear_down),
      cmocka_unit_test_setup_teardown(callback_never_waits_for_the_window, set_up, tear_down),
      cmocka_unit_test_setup_teardown(explicit_order_holds, set_up, tear_down),
      cmocka_unit_test_setup_teardown(finished_event_in_after_is_no_wait, set_up, tear_down),
      cmocka_unit_test_setup_teardown(misuse_is_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(tasks_may_submit, set_up, tear_down),
      cmocka_unit_test_setup_teardown(tasks_may_not_wait, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
