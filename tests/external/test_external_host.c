// SPDX-License-Identifier: Apache-2.0
//
// Events of the host: tasks come after them, others do not; and what becomes of tasks when nobody signals.
#include <string.h>

#include "api.h"
#include "base/allocate.h"
#include "weir/external.h"
#include "weir/group.h"

static const char *const lists[] = {"cpu:2", "cpu:1", "sim:ideal,cpu:1", "sim:plain,cpu:2"};
enum { LISTS = sizeof lists / sizeof lists[0] };

static weir_event *host_event(weir_context *context, const char *label) {
  weir_event *event = NULL;
  assert_int_equal(weir_host_event_create(context, label, &event), WEIR_OK);
  assert_int_equal(weir_event_poll(event), WEIR_PENDING);
  return event;
}

// A task of the first device after an event, which sets a flag.
static weir_event *after(weir_context *context, weir_event *event, atomic_bool *ran, weir_group *group) {
  weir_event *done = NULL;
  weir_task task = {.user = ran, .after = &event, .after_count = 1, .label = "behind", .group = group};
  task.kernel = api_kernel(context, "set", api_set_flag);
  assert_int_equal(weir_submit(context, &task, &done), WEIR_OK);
  return done;
}

static void tasks_wait_and_others_do_not(weir_context *context) {
  weir_event *event = host_event(context, "decoded");
  atomic_bool ran = false, other = false;
  weir_event *behind = after(context, event, &ran, NULL);
  for (int i = 0; i < 7; i++) // with the task that waits they fill the window
    assert_int_equal(api_await(api_submit_host(context, api_set_flag, &other, NULL, 0)), WEIR_OK);
  assert_true(other);
  assert_false(ran);
  assert_int_equal(weir_event_poll(behind), WEIR_PENDING);
  assert_string_equal(weir_event_message(event), "");
  api_expect(weir_finish_for(context, 1000), WEIR_TIMEOUT, "task", "'behind'", "which waits for host event 'decoded'",
             NULL);
  api_expect(weir_event_wait(behind, 1000), WEIR_TIMEOUT, "'behind'", "and waits for host event 'decoded'", NULL);
  api_expect(weir_event_wait(event, 1000), WEIR_TIMEOUT, "host event 'decoded' is not done", NULL);
  assert_int_equal(weir_host_event_signal(event, WEIR_OK), WEIR_OK);
  assert_int_equal(weir_event_wait(event, 0), WEIR_OK);
  assert_int_equal(api_await(behind), WEIR_OK);
  assert_true(ran);
  // After it is done it holds nobody back.
  ran = false;
  assert_int_equal(api_await(after(context, event, &ran, NULL)), WEIR_OK);
  assert_true(ran);
  weir_event_release(event);
  assert_int_equal(weir_finish(context), WEIR_OK);
}

static void a_failure_is_order_alone(weir_context *context) {
  weir_event *event = host_event(context, "camera");
  atomic_bool ran = false;
  weir_event *behind = after(context, event, &ran, NULL);
  assert_int_equal(weir_host_event_signal(event, WEIR_ERROR_IO), WEIR_OK);
  assert_int_equal(api_await(behind), WEIR_OK);
  assert_true(ran);
  api_expect(weir_event_wait(event, 0), WEIR_ERROR_IO, "host event 'camera'", NULL);
  assert_int_equal(weir_event_poll(event), WEIR_ERROR_IO);
  weir_event_release(event);
  assert_int_equal(weir_finish(context), WEIR_OK);
}

static void cancelling_ends_the_wait(weir_context *context) {
  weir_event *event = host_event(context, NULL), *second = host_event(context, "second");
  atomic_bool ran = false, later = false;
  weir_event *both[] = {event, second, event}, *behind = NULL;
  weir_task task = {.host = api_set_flag, .user = &ran, .after = both, .after_count = 3};
  assert_int_equal(weir_submit(context, &task, &behind), WEIR_OK);
  api_expect(weir_finish_for(context, 1000), WEIR_TIMEOUT, "which waits for ", NULL);
  weir_context_cancel(context);
  assert_int_equal(api_await(behind), WEIR_ERROR_CANCELLED);
  assert_false(ran);
  // The events are as they were.
  behind = after(context, event, &later, NULL);
  assert_int_equal(weir_event_poll(event), WEIR_PENDING);
  assert_int_equal(weir_host_event_signal(event, WEIR_OK), WEIR_OK);
  assert_int_equal(api_await(behind), WEIR_OK);
  assert_true(later);
  assert_int_equal(weir_host_event_signal(second, WEIR_OK), WEIR_OK);
  weir_event_release(event);
  weir_event_release(second);
  assert_int_equal(weir_finish(context), WEIR_ERROR_CANCELLED);
}

static void note_memory(const weir_work *work) {
  *(void **)work->user = work->args[0];
}

// A task of the host that overwrites a buffer after an event, and notes where.
static weir_event *overwrite(weir_context *context, weir_buffer *buffer, weir_event *event, void **memory) {
  weir_event *done = NULL;
  const weir_arg arg = weir_writes(buffer);
  weir_task task = {.host = note_memory,
                    .user = (void *)memory,
                    .args = &arg,
                    .arg_count = 1,
                    .after = &event,
                    .after_count = event != NULL,
                    .label = "overwrite"};
  assert_int_equal(weir_submit(context, &task, &done), WEIR_OK);
  return done;
}

// A cancelled task keeps its storage from others until an event ends that holds it.
static void cancelling_leaves_what_is_held(weir_context *context) {
  weir_event *event = host_event(context, "outside");
  weir_buffer *buffer = api_buffer(context, 4096, "outside");
  void *memory = NULL, *other = NULL;
  assert_int_equal(weir_host_event_hold(event), WEIR_OK);
  weir_event *held = overwrite(context, buffer, event, &memory);
  weir_context_cancel(context);
  assert_int_equal(weir_event_poll(held), WEIR_PENDING);
  weir_event *next = overwrite(context, buffer, NULL, &other);
  assert_int_equal(weir_event_wait(held, 1000), WEIR_TIMEOUT);
  assert_int_equal(weir_host_event_signal(event, WEIR_OK), WEIR_OK);
  assert_int_equal(api_await(held), WEIR_ERROR_CANCELLED);
  assert_int_equal(api_await(next), WEIR_OK);
  assert_null(memory);
  assert_int_equal(weir_host_event_hold(event), WEIR_ERROR_INVALID_ARGUMENT);
  weir_event_release(event);
  assert_int_equal(weir_buffer_release(buffer), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_ERROR_CANCELLED);
}

static void *left_memory;

// Storage that work outside may still use is nobody else's from then on, and outlives the context.
static void what_is_abandoned_is_left(weir_context *context) {
  weir_event *event = host_event(context, "lost");
  weir_buffer *buffer = api_buffer(context, 4096, "outside");
  left_memory = NULL;
  weir_event *done = overwrite(context, buffer, event, &left_memory);
  assert_int_equal(weir_host_event_abandon(event, WEIR_OK), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir_host_event_abandon(event, WEIR_ERROR_DEVICE_LOST), WEIR_OK);
  assert_int_equal(weir_host_event_abandon(event, WEIR_ERROR_DEVICE_LOST), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir_event_poll(event), WEIR_ERROR_DEVICE_LOST);
  assert_int_equal(api_await(done), WEIR_OK);
  assert_non_null(left_memory);
  weir_event_release(event);
  assert_int_equal(weir_buffer_release(buffer), WEIR_OK);
  for (int i = 0; i < 20; i++) {
    void *memory = NULL;
    weir_buffer *other = api_buffer(context, 4096, "outside");
    assert_int_equal(api_await(overwrite(context, other, NULL, &memory)), WEIR_OK);
    assert_ptr_not_equal(memory, left_memory);
    if (i % 2 == 0) assert_int_equal(weir_buffer_release(other), WEIR_OK);
  }
  assert_int_equal(weir_finish(context), WEIR_OK);
}

static void groups_are_cancelled_alone(weir_context *context) {
  weir_group *group = NULL;
  assert_int_equal(weir_group_create(context, &group), WEIR_OK);
  weir_event *event = host_event(context, "never");
  atomic_bool ran = false, other = false;
  weir_event *member = after(context, event, &ran, group), *stranger = after(context, event, &other, NULL);
  assert_int_equal(weir_group_cancel(group), WEIR_OK);
  assert_int_equal(api_await(member), WEIR_ERROR_CANCELLED);
  assert_int_equal(weir_event_poll(stranger), WEIR_PENDING);
  assert_int_equal(weir_host_event_signal(event, WEIR_OK), WEIR_OK);
  assert_int_equal(api_await(stranger), WEIR_OK);
  assert_true(other);
  assert_false(ran);
  weir_event_release(event);
  assert_int_equal(weir_group_wait(group, WEIR_FOREVER), WEIR_ERROR_CANCELLED);
  assert_int_equal(weir_group_release(group), WEIR_OK);
}

static void who_is_released_unsignalled_skips(weir_context *context) {
  weir_event *event = host_event(context, "dropped");
  atomic_bool ran = false;
  weir_event *behind = after(context, event, &ran, NULL);
  weir_event_release(event);
  assert_int_equal(api_await(behind), WEIR_ERROR_CANCELLED);
  assert_false(ran);
  assert_int_equal(weir_finish(context), WEIR_ERROR_CANCELLED);
  assert_int_equal(weir_finish(context), WEIR_OK);
}

typedef struct heard {
  atomic_uint count;
  _Atomic int status;
} heard;

static void hear(void *user, weir_status status) {
  heard *self = user;
  atomic_store(&self->status, (int)status);
  atomic_fetch_add(&self->count, 1);
}

static void callbacks_are_called(weir_context *context) {
  weir_event *event = host_event(context, "heard");
  heard first = {0}, second = {0};
  assert_int_equal(weir_event_on_done(event, hear, &first), WEIR_OK);
  assert_int_equal(weir_host_event_signal(event, WEIR_OK), WEIR_OK);
  assert_int_equal(first.count, 1);
  assert_int_equal(first.status, WEIR_OK);
  assert_int_equal(weir_event_on_done(event, hear, &second), WEIR_OK);
  assert_int_equal(second.count, 1);
  weir_event_release(event);
}

static void misuse_is_refused(weir_context *context) {
  const weir_status invalid = WEIR_ERROR_INVALID_ARGUMENT;
  weir_event *event = host_event(context, "once"), *task = api_submit_host(context, api_nothing, NULL, NULL, 0);
  api_expect(weir_host_event_create(NULL, NULL, &task), invalid, "context is NULL", NULL);
  assert_null(task);
  api_expect(weir_host_event_create(context, NULL, NULL), invalid, "out_event is NULL", NULL);
  task = api_submit_host(context, api_nothing, NULL, NULL, 0);
  api_expect(weir_host_event_signal(NULL, WEIR_OK), invalid, "host event signal", NULL);
  api_expect(weir_host_event_signal(event, WEIR_PENDING), invalid, "1 is no status", NULL);
  api_expect(weir_host_event_signal(event, WEIR_TIMEOUT), invalid, "2 is no status", NULL);
  api_expect(weir_host_event_signal(event, (weir_status)99), invalid, "99 is no status", NULL);
  api_expect(weir_host_event_signal(task, WEIR_OK), invalid, "not of weir_host_event_create", NULL);
  assert_int_equal(api_await(task), WEIR_OK);
  assert_int_equal(weir_host_event_signal(event, WEIR_OK), WEIR_OK);
  api_expect(weir_host_event_signal(event, WEIR_OK), invalid, "was signalled before", NULL);
  weir_event_release(event);
  api_expect(weir_host_event_signal(event, WEIR_OK), WEIR_ERROR_RELEASED, "host event signal", NULL);
}

// Many events take no slots: more than the window are pending while tasks go through.
static void events_take_no_slots(weir_context *context) {
  enum { EVENTS = 300 };
  weir_event *events[EVENTS], *behind = NULL;
  atomic_bool ran = false, other = false;
  for (int i = 0; i < EVENTS; i++) events[i] = host_event(context, NULL);
  weir_task task = {.host = api_set_flag, .user = &ran, .after = events, .after_count = EVENTS};
  assert_int_equal(weir_submit(context, &task, &behind), WEIR_OK);
  for (int i = 0; i < 7; i++) weir_event_release(api_submit_host(context, api_set_flag, &other, NULL, 0));
  for (int i = 0; i < EVENTS; i++) {
    assert_int_equal(weir_event_poll(behind), WEIR_PENDING);
    assert_int_equal(weir_host_event_signal(events[i], WEIR_OK), WEIR_OK);
    weir_event_release(events[i]);
  }
  for (int i = 0; i < 100; i++) weir_event_release(api_submit_host(context, api_set_flag, &other, NULL, 0));
  assert_int_equal(api_await(behind), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
}

typedef struct nest {
  weir_context *context;
  weir_event *event;
  atomic_bool ran[40];
} nest;

static void submit_many(const weir_work *work) {
  nest *self = work->user;
  for (int i = 0; i < 40; i++) {
    weir_task task = {.host = api_set_flag, .user = &self->ran[i], .after = &self->event, .after_count = 1};
    if (weir_submit(self->context, &task, NULL) != WEIR_OK) weir_work_fail(work, weir_last_error());
  }
}

static void signal_it(const weir_work *work) {
  weir_event *event = work->user;
  if (weir_host_event_signal(event, WEIR_OK) != WEIR_OK) weir_work_fail(work, weir_last_error());
}

// Children that are queued for want of room come after the event as well; a task signals it.
static void tasks_signal_and_submit(weir_context *context) {
  nest self = {.context = context, .event = host_event(context, "children")};
  weir_event *parent = api_submit_host(context, submit_many, &self, NULL, 0);
  assert_int_equal(api_await(parent), WEIR_OK);
  assert_int_equal(weir_finish_for(context, 1000), WEIR_TIMEOUT);
  for (int i = 0; i < 40; i++) assert_false(self.ran[i]);
  assert_int_equal(weir_host_event_signal(self.event, WEIR_OK), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  for (int i = 0; i < 40; i++) assert_true(self.ran[i]);
  weir_event_release(self.event);
  weir_event *other = host_event(context, "by a task");
  atomic_bool ran = false;
  weir_event *behind = after(context, other, &ran, NULL);
  assert_int_equal(api_await(api_submit_host(context, signal_it, other, NULL, 0)), WEIR_OK);
  assert_int_equal(api_await(behind), WEIR_OK);
  weir_event_release(other);
}

static void run_all(uint32_t flags, void (*test)(weir_context *context)) {
  for (int i = 0; i < LISTS; i++) {
    weir_context *context = api_context(lists[i], 8, flags);
    test(context);
    assert_int_equal(weir_context_release(context), WEIR_OK);
  }
}

#define TEST(name)                                                                                                     \
  static void test_##name(void **state) {                                                                              \
    (void)state;                                                                                                       \
    run_all(0, name);                                                                                                  \
    run_all(WEIR_CONTEXT_TRACE, name);                                                                                 \
    run_all(WEIR_CONTEXT_IN_ORDER, name);                                                                              \
  }
TEST(a_failure_is_order_alone)
TEST(cancelling_ends_the_wait)
TEST(cancelling_leaves_what_is_held)
TEST(who_is_released_unsignalled_skips)
TEST(callbacks_are_called)
TEST(misuse_is_refused)
TEST(events_take_no_slots)

static void test_tasks_wait_and_others_do_not(void **state) {
  (void)state;
  run_all(0, tasks_wait_and_others_do_not);
  run_all(WEIR_CONTEXT_TRACE, tasks_wait_and_others_do_not);
}

static void test_groups_are_cancelled_alone(void **state) {
  (void)state;
  run_all(0, groups_are_cancelled_alone);
}

static void test_tasks_signal_and_submit(void **state) {
  (void)state;
  run_all(0, tasks_signal_and_submit);
}

// The release of the context is the end of events that nobody can signal any more, and tasks that wait are skipped.
static void release_does_not_hang(void **state) {
  (void)state;
  for (int i = 0; i < LISTS; i++) {
    weir_context *context = api_context(lists[i], 8, 0);
    weir_event *event = host_event(context, "left");
    atomic_bool ran = false;
    heard task = {0}, own = {0};
    weir_event *behind = after(context, event, &ran, NULL);
    assert_int_equal(weir_event_on_done(behind, hear, &task), WEIR_OK);
    assert_int_equal(weir_event_on_done(event, hear, &own), WEIR_OK);
    assert_int_equal(weir_context_release(context), WEIR_OK);
    assert_false(ran);
    assert_int_equal(task.count, 1);
    assert_int_equal(task.status, WEIR_ERROR_CANCELLED);
    assert_int_equal(own.count, 1);
    assert_int_equal(own.status, WEIR_ERROR_CANCELLED);
  }
}

static void check_mode_waits_too(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, WEIR_CONTEXT_CHECK);
  weir_event *event = host_event(context, "checked");
  atomic_bool ran = false;
  weir_event *behind = after(context, event, &ran, NULL);
  assert_int_equal(weir_event_wait(behind, 1000000), WEIR_TIMEOUT);
  assert_int_equal(weir_host_event_signal(event, WEIR_OK), WEIR_OK);
  assert_int_equal(api_await(behind), WEIR_OK);
  weir_event_release(event);
  assert_int_equal(weir_context_release(context), WEIR_OK);
}

static void an_external_event_is_no_task(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, WEIR_CONTEXT_TRACE);
  weir_event *event = host_event(context, "why"), *task = api_submit_host(context, api_nothing, NULL, NULL, 0);
  char text[64];
  api_expect(weir_why(event, task, text, sizeof text), WEIR_ERROR_INVALID_ARGUMENT, "is no task", NULL);
  assert_int_equal(api_await(task), WEIR_OK);
  weir_statistics statistics;
  weir_context_statistics(context, &statistics);
  assert_int_equal(statistics.tasks, 1);
  weir_event_release(event);
  assert_int_equal(weir_context_release(context), WEIR_OK);
}

static void test_what_is_abandoned_is_left(void **state) {
  (void)state;
  for (int i = 0; i < LISTS; i++) {
    weir_context *context = api_context(lists[i], 8, 0);
    what_is_abandoned_is_left(context);
    assert_int_equal(weir_context_release(context), WEIR_OK);
    memset(left_memory, 1, 4096);
    weir__free(left_memory);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tasks_wait_and_others_do_not),
      cmocka_unit_test(test_a_failure_is_order_alone),
      cmocka_unit_test(test_cancelling_ends_the_wait),
      cmocka_unit_test(test_cancelling_leaves_what_is_held),
      cmocka_unit_test(test_what_is_abandoned_is_left),
      cmocka_unit_test(test_groups_are_cancelled_alone),
      cmocka_unit_test(test_who_is_released_unsignalled_skips),
      cmocka_unit_test(test_callbacks_are_called),
      cmocka_unit_test(test_misuse_is_refused),
      cmocka_unit_test(test_events_take_no_slots),
      cmocka_unit_test(test_tasks_signal_and_submit),
      cmocka_unit_test(release_does_not_hang),
      cmocka_unit_test(check_mode_waits_too),
      cmocka_unit_test(an_external_event_is_no_task),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
