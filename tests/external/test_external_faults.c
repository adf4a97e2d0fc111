// SPDX-License-Identifier: Apache-2.0
//
// Allocation fails at the Nth call, for every N, while tasks and buffers come after events of the host: a call is
// refused, or all is as it should be. Nothing leaks, nothing hangs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "allocation_ledger.h"
#include "base/allocate.h"
#include "sweep.h"
#include "weir/external.h"

enum { EVENTS = 80, MOST_CALLS = 4000 };

typedef struct scene {
  weir_context *context;
  weir_event *events[EVENTS];
  uint64_t memory[8];
  weir_buffer *buffer;
  atomic_uint ran, accepted, wrong, called, attached;
} scene;

static bool accepted(scene *self, weir_status status) {
  if (status == WEIR_OK) return true;
  if (status != WEIR_ERROR_OUT_OF_MEMORY || strlen(weir_last_error()) == 0) atomic_fetch_add(&self->wrong, 1);
  return false;
}

static void note(void *user, weir_status status) {
  scene *self = user;
  atomic_fetch_add(&self->called, 1);
  if (status != WEIR_OK && status != WEIR_ERROR_CANCELLED) atomic_fetch_add(&self->wrong, 1);
}

static void count(const weir_work *work) {
  scene *self = work->user;
  atomic_fetch_add(&self->ran, 1);
}

static void submit(scene *self, uint32_t event_count) {
  weir_arg arg = weir_updates(self->buffer);
  weir_task task = {
      .host = count, .user = self, .args = &arg, .arg_count = 1, .after = self->events, .after_count = event_count};
  if (accepted(self, weir_submit(self->context, &task, NULL))) atomic_fetch_add(&self->accepted, 1);
}

static void follow(scene *self) {
  weir_event *outside = NULL, *users = NULL;
  if (!accepted(self, weir_host_event_create(self->context, "outside", &outside))) return;
  if (accepted(self, weir_event_on_done(outside, note, self))) atomic_fetch_add(&self->attached, 1);
  (void)accepted(self, weir_buffer_event(self->buffer, WEIR_READ_WRITE, &users));
  (void)accepted(self, weir_buffer_follow(self->buffer, WEIR_READ_WRITE, outside));
  submit(self, 0);
  if (weir_host_event_signal(outside, WEIR_OK) != WEIR_OK) atomic_fetch_add(&self->wrong, 1);
  if (users != NULL && weir_event_wait(users, WEIR_FOREVER) != WEIR_OK) atomic_fetch_add(&self->wrong, 1);
  weir_event_release(users);
  weir_event_release(outside);
}

static void play(scene *self) {
  weir_context_options options = {.devices = "cpu:1", .window = 8};
  if (!accepted(self, weir_context_create(&options, &self->context))) return;
  uint32_t made = 0;
  if (accepted(self, weir_buffer_wrap(self->context, self->memory, sizeof self->memory, &self->buffer))) {
    while (made < EVENTS && accepted(self, weir_host_event_create(self->context, NULL, &self->events[made]))) made++;
    if (made > 0 && accepted(self, weir_event_on_done(self->events[0], note, self)))
      atomic_fetch_add(&self->attached, 1);
    submit(self, made);
    submit(self, made / 2);
    for (uint32_t i = 0; i < made; i++) {
      if (weir_host_event_signal(self->events[i], WEIR_OK) != WEIR_OK) atomic_fetch_add(&self->wrong, 1);
      weir_event_release(self->events[i]);
    }
    follow(self);
    weir_event *left = NULL;
    if (accepted(self, weir_host_event_create(self->context, "left", &left)) &&
        accepted(self, weir_event_on_done(left, note, self)))
      atomic_fetch_add(&self->attached, 1);
  }
  weir_status status = weir_finish(self->context);
  if (status != WEIR_OK && status != WEIR_ERROR_OUT_OF_MEMORY) atomic_fetch_add(&self->wrong, 1);
  weir_context_release(self->context);
}

static void every_allocation_fails_once(void **state) {
  (void)state;
  for (uint64_t n = 1; n < MOST_CALLS; n = sweep_after(n)) {
    alarm(60);
    scene self = {0};
    int64_t live = ledger_live();
    uint64_t before = weir__allocate_count();
    weir__allocate_fail_at(n);
    play(&self);
    bool failed = weir__allocate_count() - before >= n;
    weir__allocate_fail_at(0);
    assert_int_equal(atomic_load(&self.wrong), 0);
    assert_int_equal(ledger_live(), live);
    assert_int_equal(atomic_load(&self.ran), atomic_load(&self.accepted));
    assert_int_equal(atomic_load(&self.called), atomic_load(&self.attached));
    if (!failed) {
      assert_int_equal(atomic_load(&self.ran), 3);
      return;
    }
  }
  fail_msg("%d allocations are not enough", MOST_CALLS);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_fails_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
