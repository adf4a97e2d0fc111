// SPDX-License-Identifier: Apache-2.0
//
// Eight threads create, use and release objects of one context, wait for the same events, attach callbacks, cancel.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "crowd.h"
#include "gate.h"

enum { ROUNDS = 150, EVENTS = 60 };

typedef struct party {
  weir_context *context;
  weir_event *events[EVENTS];
  atomic_uint failed;
  atomic_uint callbacks;
  atomic_uint done, cancelled;
} party;

static void expect(party *self, bool good) {
  if (!good) atomic_fetch_add(&self->failed, 1);
}

static void bump(const weir_work *work) {
  *(uint64_t *)work->args[0] += 1;
}

static void use_objects(void *user, uint32_t number) {
  party *self = user;
  for (uint64_t i = 0; i < ROUNDS; i++) {
    weir_buffer *buffer = NULL;
    weir_kernel *kernel = NULL;
    weir_event *event = NULL;
    uint64_t value = number * 1000 + i, found = 0;
    expect(self, weir_buffer_create(self->context, 8 + i * 10, &buffer) == WEIR_OK);
    expect(self, weir_kernel_create(self->context, "bump", &kernel) == WEIR_OK);
    expect(self, weir_kernel_set_cpu(kernel, bump) == WEIR_OK);
    expect(self, weir_buffer_set_label(buffer, "shared by nobody") == WEIR_OK);
    expect(self, weir_copy_in(buffer, 0, 8, &value, NULL) == WEIR_OK);
    weir_arg arg = weir_updates_range(buffer, 0, 8);
    weir_task task = {.kernel = kernel, .args = &arg, .arg_count = 1};
    for (int j = 0; j < 3; j++) expect(self, weir_submit(self->context, &task, NULL) == WEIR_OK);
    expect(self, weir_kernel_release(kernel) == WEIR_OK);
    expect(self, weir_copy_out(buffer, 0, 8, &found, &event) == WEIR_OK);
    expect(self, weir_buffer_release(buffer) == WEIR_OK);
    weir_statistics statistics;
    weir_context_statistics(self->context, &statistics);
    expect(self, statistics.done <= statistics.tasks);
    expect(self, weir_event_wait(event, WEIR_FOREVER) == WEIR_OK && found == value + 3);
    weir_event_release(event);
  }
}

static void objects_come_and_go(void **state) {
  (void)state;
  for (uint32_t i = 0; i < CROWD_CONTEXTS; i++) {
    alarm(120);
    party self = {.context = crowd_context(i, i % 2 == 0 ? 8 : 256, 0)};
    crowd_run(use_objects, &self);
    weir_context_release(self.context);
    assert_int_equal(atomic_load(&self.failed), 0);
  }
}

static void count_callback(void *user, weir_status status) {
  party *self = user;
  expect(self, status == WEIR_OK);
  atomic_fetch_add(&self->callbacks, 1);
}

static void wait_for_events(void *user, uint32_t number) {
  party *self = user;
  for (uint32_t i = 0; i < EVENTS; i++) {
    weir_event *event = self->events[(i * 7 + number * 13) % EVENTS];
    weir_status status = weir_event_poll(event);
    expect(self, status == WEIR_OK || status == WEIR_PENDING);
    expect(self, weir_event_on_done(event, count_callback, self) == WEIR_OK);
    status = weir_event_wait(event, number % 2 == 0 ? WEIR_FOREVER : 20000);
    expect(self, status == WEIR_OK || (number % 2 == 1 && status == WEIR_TIMEOUT));
    expect(self, number % 4 != 3 || weir_finish_for(self->context, 10000) != WEIR_ERROR_INVALID_ARGUMENT);
  }
}

static void events_are_shared(void **state) {
  (void)state;
  for (uint32_t i = 0; i < CROWD_CONTEXTS; i++) {
    alarm(120);
    party self = {.context = crowd_context(i, 256, 0)};
    uint64_t memory = 0;
    weir_buffer *number = NULL;
    assert_int_equal(weir_buffer_wrap(self.context, &memory, sizeof memory, &number), WEIR_OK);
    weir_arg arg = weir_updates(number);
    gate door = {0};
    assert_int_equal(gate_submit(self.context, &door, &arg, 1, NULL), WEIR_OK);
    for (int e = 0; e < EVENTS; e++) {
      weir_task task = {.host = bump, .args = &arg, .arg_count = 1};
      assert_int_equal(weir_submit(self.context, &task, &self.events[e]), WEIR_OK);
    }
    gate_open(&door);
    crowd_run(wait_for_events, &self);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
    assert_int_equal(memory, EVENTS);
    for (int e = 0; e < EVENTS; e++) weir_event_release(self.events[e]);
    weir_context_release(self.context);
    assert_int_equal(atomic_load(&self.failed), 0);
    assert_int_equal(atomic_load(&self.callbacks), EVENTS * CROWD);
  }
}

static void submit_and_cancel(void *user, uint32_t number) {
  party *self = user;
  for (int i = 0; i < ROUNDS; i++) {
    uint64_t value = 0;
    weir_buffer *buffer = NULL;
    weir_event *event = NULL;
    expect(self, weir_buffer_create(self->context, 8, &buffer) == WEIR_OK);
    expect(self, weir_copy_in(buffer, 0, 8, &value, NULL) == WEIR_OK);
    weir_arg arg = weir_updates(buffer);
    weir_task task = {.host = bump, .args = &arg, .arg_count = 1};
    expect(self, weir_submit(self->context, &task, &event) == WEIR_OK);
    if (number == 0 && i % 10 == 0) weir_context_cancel(self->context);
    weir_status status = weir_event_wait(event, WEIR_FOREVER);
    if (status == WEIR_OK)
      atomic_fetch_add(&self->done, 1);
    else
      atomic_fetch_add(&self->cancelled, 1);
    expect(self, status == WEIR_OK || status == WEIR_ERROR_CANCELLED || status == WEIR_ERROR_UPSTREAM_FAILED);
    weir_event_release(event);
    weir_buffer_release(buffer);
  }
}

static void cancelling_leaves_no_task_behind(void **state) {
  (void)state;
  for (uint32_t i = 0; i < CROWD_CONTEXTS; i++) {
    alarm(120);
    party self = {.context = crowd_context(i, 64, 0)};
    crowd_run(submit_and_cancel, &self);
    weir_status status = weir_finish(self.context);
    assert_true(status == WEIR_OK || status == WEIR_ERROR_CANCELLED || status == WEIR_ERROR_UPSTREAM_FAILED);
    weir_context_release(self.context);
    assert_int_equal(atomic_load(&self.failed), 0);
    assert_int_equal(atomic_load(&self.done) + atomic_load(&self.cancelled), CROWD * ROUNDS);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(objects_come_and_go),
      cmocka_unit_test(events_are_shared),
      cmocka_unit_test(cancelling_leaves_no_task_behind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
