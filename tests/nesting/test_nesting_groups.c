// SPDX-License-Identifier: Apache-2.0
//
// Groups: waited for, cancelled, counted, released.
#include <pthread.h>
#include <string.h>

#include "nesting.h"
#include "part.h"
#include "weir/external.h"

enum { MANY = 200, DEPTH = 40, ROUNDS = 30, CANCELLED = 7 };

static const char *const devices[] = {"cpu:1", "cpu:2", "cpu:5", "sim:ideal,cpu:1"};
enum { DEVICES = sizeof devices / sizeof devices[0] };

typedef struct party {
  weir_context *context;
  weir_group *group, *other;
  weir_buffer *buffer;
  weir_event *outside;
  atomic_uint done, others, refused;
  atomic_bool stop;
  gate door;
} party;

static void create(party *self, const char *names, uint32_t flags) {
  *self = (party){.context = nesting_context(names, flags)};
  assert_int_equal(weir_group_create(self->context, &self->group), WEIR_OK);
}

static void release(party *self) {
  assert_int_equal(atomic_load(&self->refused), 0);
  assert_int_equal(weir_group_release(self->group), WEIR_OK);
  assert_int_equal(weir_context_release(self->context), WEIR_OK);
}

static void submit(party *self, weir_function function, weir_group *group) {
  weir_task task = {.host = function, .user = self, .group = group};
  if (weir_submit(self->context, &task, NULL) != WEIR_OK) atomic_fetch_add(&self->refused, 1);
}

static weir_group_statistics counts(party *self) {
  weir_group_statistics statistics;
  assert_int_equal(weir_group_get_statistics(self->group, &statistics), WEIR_OK);
  return statistics;
}

static void work_on(const weir_work *work) {
  party *self = work->user;
  atomic_fetch_add(&self->done, 1);
}

static void other_work(const weir_work *work) {
  party *self = work->user;
  atomic_fetch_add(&self->others, 1);
}

static void work_and_submit(const weir_work *work) {
  party *self = work->user;
  if (atomic_fetch_add(&self->done, 1) % DEPTH == DEPTH - 1) return;
  if (self->other != NULL) submit(self, other_work, self->other);
  submit(self, work_and_submit, NULL);
}

static void a_group_is_waited_for(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    party self;
    create(&self, devices[i], 0);
    assert_int_equal(weir_group_wait(self.group, WEIR_FOREVER), WEIR_OK);
    for (uint32_t round = 1, rounds = part_count(ROUNDS); round <= rounds; round++) {
      submit(&self, work_and_submit, self.group);
      submit(&self, other_work, NULL);
      assert_int_equal(weir_group_wait(self.group, WEIR_FOREVER), WEIR_OK);
      assert_int_equal(atomic_load(&self.done), round * DEPTH);
      weir_group_statistics found = counts(&self);
      assert_int_equal(found.tasks, round * DEPTH);
      assert_int_equal(found.done, round * DEPTH);
      assert_int_equal(found.failed + found.skipped + found.cancelled, 0);
    }
    release(&self);
  }
}

// A child that names another group is in that one alone.
static void a_child_may_name_another_group(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    party self;
    create(&self, devices[i], 0);
    assert_int_equal(weir_group_create(self.context, &self.other), WEIR_OK);
    submit(&self, work_and_submit, self.group);
    assert_int_equal(weir_group_wait(self.group, WEIR_FOREVER), WEIR_OK);
    assert_int_equal(weir_group_wait(self.other, WEIR_FOREVER), WEIR_OK);
    assert_int_equal(atomic_load(&self.others), DEPTH - 1);
    assert_int_equal(counts(&self).tasks, DEPTH);
    weir_group_release(self.other);
    release(&self);
  }
}

static void wait_in_task(const weir_work *work) {
  party *self = work->user;
  if (weir_group_wait(self->group, 0) == WEIR_ERROR_INVALID_ARGUMENT) atomic_fetch_add(&self->done, 1);
}

static void a_wait_ends_in_time(void **state) {
  (void)state;
  party self;
  create(&self, "cpu:2", 0);
  weir_task task = {.host = gate_function, .user = &self.door, .group = self.group};
  assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_OK);
  assert_int_equal(weir_group_wait(self.group, 1000000), WEIR_TIMEOUT);
  assert_non_null(strstr(weir_last_error(), "1 task"));
  submit(&self, wait_in_task, NULL);
  gate_open(&self.door);
  assert_int_equal(weir_group_wait(self.group, WEIR_FOREVER), WEIR_OK);
  assert_int_equal(weir_finish(self.context), WEIR_OK);
  assert_int_equal(atomic_load(&self.done), 1);
  release(&self);
}

static void fail_on_purpose(const weir_work *work) {
  weir_work_fail(work, "on purpose");
}

static void read_it(const weir_work *work) {
  (void)work;
}

static void submit_failure(party *self, weir_group *group) {
  weir_arg writes = weir_writes(self->buffer), reads = weir_reads(self->buffer);
  weir_task task = {.host = fail_on_purpose, .args = &writes, .arg_count = 1, .group = group};
  assert_int_equal(weir_submit(self->context, &task, NULL), WEIR_OK);
  task = (weir_task){.host = read_it, .args = &reads, .arg_count = 1, .group = group};
  assert_int_equal(weir_submit(self->context, &task, NULL), WEIR_OK);
}

// A failure is reported once: by the group, or, if that is released, by weir_finish.
static void a_failure_is_reported_once(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    party self;
    create(&self, devices[i], 0);
    assert_int_equal(weir_buffer_create(self.context, 8, &self.buffer), WEIR_OK);
    submit_failure(&self, self.group);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
    assert_int_equal(weir_group_wait(self.group, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
    assert_non_null(strstr(weir_last_error(), "on purpose"));
    assert_int_equal(weir_group_wait(self.group, WEIR_FOREVER), WEIR_OK);
    weir_group_statistics found = counts(&self);
    assert_int_equal(found.done, 2);
    assert_int_equal(found.failed, 1);
    assert_int_equal(found.skipped, 1);
    // Released before it is asked, with the failure and before it.
    for (int before = 0; before < 2; before++) {
      weir_group *group;
      assert_int_equal(weir_group_create(self.context, &group), WEIR_OK);
      submit_failure(&self, group);
      if (before) assert_int_equal(weir_finish(self.context), WEIR_OK);
      assert_int_equal(weir_group_release(group), WEIR_OK);
      assert_int_equal(weir_group_release(group), WEIR_ERROR_RELEASED);
      assert_int_equal(weir_finish(self.context), WEIR_ERROR_TASK_FAILED);
      assert_int_equal(weir_finish(self.context), WEIR_OK);
    }
    release(&self);
  }
}

static void submit_many_and_wait(const weir_work *work) {
  party *self = work->user;
  for (int i = 0; i < MANY; i++) submit(self, work_and_submit, NULL);
  gate_function(&(weir_work){.user = &self->door});
  submit(self, work_on, NULL);
}

// Those in the window, those that are queued, and those that the running task submits later.
static void cancel_skips_what_has_not_started(void **state) {
  (void)state;
  party self;
  create(&self, "cpu:1", 0);
  submit(&self, submit_many_and_wait, self.group);
  gate_await(&self.door, 1);
  assert_int_equal(weir_group_cancel(self.group), WEIR_OK);
  gate_open(&self.door);
  submit(&self, other_work, NULL);
  submit(&self, work_on, self.group);
  assert_int_equal(weir_group_wait(self.group, WEIR_FOREVER), WEIR_ERROR_CANCELLED);
  assert_non_null(strstr(weir_last_error(), "it was cancelled")); // and its context was not
  assert_int_equal(weir_finish(self.context), WEIR_OK);
  assert_int_equal(atomic_load(&self.done), 1); // that was submitted after the cancellation
  assert_int_equal(atomic_load(&self.others), 1);
  weir_group_statistics found = counts(&self);
  assert_int_equal(found.tasks, MANY + 3);
  assert_int_equal(found.done, MANY + 3);
  assert_int_equal(found.cancelled, MANY + 1);
  release(&self);
}

static void submit_after(party *self, weir_event *event) {
  weir_task task = {.host = work_on, .user = self, .after = &event, .after_count = 1};
  if (weir_submit(self->context, &task, NULL) != WEIR_OK) atomic_fetch_add(&self->refused, 1);
}

static void submit_many_after(const weir_work *work) {
  party *self = work->user;
  for (int i = 0; i < MANY; i++) submit_after(self, self->outside);
  gate_function(&(weir_work){.user = &self->door});
  submit_after(self, self->outside);
}

// Nor do these wait for an external event when they enter: those in the window, those that are queued, and those that come later.
static void cancelled_tasks_do_not_wait_for_an_external_event(void **state) {
  (void)state;
  for (int i = 0; i < 2 * DEVICES; i++) {
    party self;
    create(&self, devices[i / 2], 0);
    assert_int_equal(weir_host_event_create(self.context, "outside", &self.outside), WEIR_OK);
    submit(&self, submit_many_after, self.group);
    gate_await(&self.door, 1);
    if (i % 2 == 0) {
      assert_int_equal(weir_group_cancel(self.group), WEIR_OK);
      gate_open(&self.door);
    } else {
      gate_open(&self.door);
      while (counts(&self).tasks <= MANY + 1) usleep(100);
      weir_context_cancel(self.context);
    }
    assert_int_equal(weir_group_wait(self.group, WEIR_FOREVER), WEIR_ERROR_CANCELLED);
    assert_int_equal(weir_event_poll(self.outside), WEIR_PENDING);
    assert_int_equal(atomic_load(&self.done), 0);
    assert_int_equal(counts(&self).cancelled, MANY + 1);
    weir_event_release(self.outside);
    release(&self);
  }
}

static void copy_and_fill(const weir_work *work) {
  party *self = work->user;
  for (uint32_t i = 0; i < 20; i++) {
    if (weir_fill(self->buffer, 0, 64, i, NULL) != WEIR_OK) atomic_fetch_add(&self->refused, 1);
    if (weir_copy(self->buffer, 64, self->buffer, 0, 64, NULL) != WEIR_OK) atomic_fetch_add(&self->refused, 1);
  }
}

static void copies_belong_to_the_group(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    party self;
    uint32_t found[32];
    create(&self, devices[i], 0);
    assert_int_equal(weir_buffer_create(self.context, 128, &self.buffer), WEIR_OK);
    submit(&self, copy_and_fill, self.group);
    assert_int_equal(weir_group_wait(self.group, WEIR_FOREVER), WEIR_OK);
    assert_int_equal(counts(&self).done, 41);
    assert_int_equal(weir_read(self.buffer, 0, WEIR_WHOLE, found), WEIR_OK);
    assert_int_equal(found[31], 19);
    release(&self);
  }
}

static void *submit_without_pause(void *argument) {
  party *self = argument;
  while (!atomic_load(&self->stop)) submit(self, work_and_submit, self->group);
  return NULL;
}

// Tasks that come into the group after the call are not waited for.
static void a_wait_is_not_starved(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES - 1; i++) {
    party self;
    create(&self, devices[i], 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, submit_without_pause, &self), 0);
    for (uint32_t round = 0, rounds = CANCELLED + part_count(ROUNDS - CANCELLED); round < rounds; round++) {
      weir_status status = weir_group_wait(self.group, WEIR_FOREVER);
      assert_true(status == WEIR_OK || status == WEIR_ERROR_CANCELLED);
      if (round % CANCELLED == CANCELLED - 1) assert_int_equal(weir_group_cancel(self.group), WEIR_OK);
    }
    atomic_store(&self.stop, true);
    pthread_join(thread, NULL);
    weir_status status = weir_group_wait(self.group, WEIR_FOREVER);
    assert_true(status == WEIR_OK || status == WEIR_ERROR_CANCELLED);
    weir_group_statistics found = counts(&self);
    assert_int_equal(found.tasks, found.done);
    release(&self);
  }
}

static void misuse_is_refused(void **state) {
  (void)state;
  party self, stranger;
  create(&self, "cpu:1", 0);
  create(&stranger, "cpu:1", 0);
  weir_task task = {.host = work_on, .user = &self, .group = stranger.group};
  assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(weir_last_error(), "another context"));
  weir_group *group;
  assert_int_equal(weir_group_create(self.context, &group), WEIR_OK);
  assert_int_equal(weir_group_release(group), WEIR_OK);
  task.group = group;
  assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_ERROR_RELEASED);
  assert_int_equal(weir_group_cancel(group), WEIR_ERROR_RELEASED);
  assert_int_equal(weir_group_wait(group, 0), WEIR_ERROR_RELEASED);
  weir_group_statistics found = {.tasks = 7};
  assert_int_equal(weir_group_get_statistics(group, &found), WEIR_ERROR_RELEASED);
  assert_int_equal(found.tasks, 0);
  assert_int_equal(weir_group_release(NULL), WEIR_OK);
  assert_int_equal(weir_group_create(NULL, &group), WEIR_ERROR_INVALID_ARGUMENT);
  assert_null(group);
  assert_int_equal(weir_group_create(self.context, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  release(&stranger);
  release(&self);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_group_is_waited_for),
      cmocka_unit_test(a_child_may_name_another_group),
      cmocka_unit_test(a_wait_ends_in_time),
      cmocka_unit_test(a_failure_is_reported_once),
      cmocka_unit_test(cancel_skips_what_has_not_started),
      cmocka_unit_test(cancelled_tasks_do_not_wait_for_an_external_event),
      cmocka_unit_test(copies_belong_to_the_group),
      cmocka_unit_test(a_wait_is_not_starved),
      cmocka_unit_test(misuse_is_refused),
  };
  alarm(240);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
