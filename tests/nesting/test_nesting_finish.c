// SPDX-License-Identifier: Apache-2.0
//
// What weir_finish waits for: all that comes of tasks submitted before the call, and nothing else.
#include <pthread.h>

#include "nesting.h"
#include "part.h"

enum { ROUNDS = 60, DEPTH = 12, PUBLIC_ROUNDS = 12 };

static const char *const devices[] = {"cpu:1", "cpu:2", "cpu:5", "sim:ideal,cpu:1"};
enum { DEVICES = sizeof devices / sizeof devices[0] };

typedef struct family {
  weir_context *context;
  atomic_uint done, refused;
  atomic_bool stop;
  gate door;
} family;

static void submit(family *self, weir_function function) {
  if (nesting_submit(self->context, function, self, NULL) != WEIR_OK) atomic_fetch_add(&self->refused, 1);
}

// Each one submits the next at its very end.
static void descend(const weir_work *work) {
  family *self = work->user;
  usleep(50);
  if (atomic_fetch_add(&self->done, 1) % DEPTH != DEPTH - 1) submit(self, descend);
}

static void finish_waits_for_grandchildren(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    family self = {.context = nesting_context(devices[i], 0)};
    for (uint32_t round = 1, rounds = part_count(ROUNDS); round <= rounds; round++) {
      submit(&self, descend);
      assert_int_equal(weir_finish(self.context), WEIR_OK);
      assert_int_equal(atomic_load(&self.done), round * DEPTH);
    }
    assert_int_equal(atomic_load(&self.refused), 0);
    weir_context_release(self.context);
  }
}

static void descend_by_callback(void *user, weir_status status);

static void submit_with_callback(family *self) {
  weir_event *event;
  if (nesting_submit(self->context, nesting_count, &self->door.passed, &event) != WEIR_OK ||
      weir_event_on_done(event, descend_by_callback, self) != WEIR_OK)
    atomic_fetch_add(&self->refused, 1);
  weir_event_release(event);
}

static void descend_by_callback(void *user, weir_status status) {
  (void)status;
  family *self = user;
  usleep(50);
  if (atomic_fetch_add(&self->done, 1) % DEPTH != DEPTH - 1) submit_with_callback(self);
}

static void finish_waits_for_what_callbacks_submit(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    family self = {.context = nesting_context(devices[i], 0)};
    for (uint32_t round = 1, rounds = part_count(ROUNDS); round <= rounds; round++) {
      submit_with_callback(&self);
      assert_int_equal(weir_finish(self.context), WEIR_OK);
      assert_int_equal(atomic_load(&self.done), round * DEPTH);
    }
    assert_int_equal(atomic_load(&self.refused), 0);
    weir_context_release(self.context);
  }
}

static void nothing(const weir_work *work) {
  (void)work;
}

static void submit_next_by_destroy(void *user) {
  family *self = user;
  usleep(50);
  if (atomic_fetch_add(&self->done, 1) % DEPTH == DEPTH - 1) return;
  weir_task task = {.host = nothing, .user = self, .destroy = submit_next_by_destroy};
  if (weir_submit(self->context, &task, NULL) != WEIR_OK) atomic_fetch_add(&self->refused, 1);
}

static void finish_waits_for_what_destroy_functions_submit(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    family self = {.context = nesting_context(devices[i], 0)};
    for (uint32_t round = 1, rounds = part_count(ROUNDS); round <= rounds; round++) {
      weir_task task = {.host = nothing, .user = &self, .destroy = submit_next_by_destroy};
      assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_OK);
      assert_int_equal(weir_finish(self.context), WEIR_OK);
      assert_int_equal(atomic_load(&self.done), round * DEPTH);
    }
    assert_int_equal(atomic_load(&self.refused), 0);
    weir_context_release(self.context);
  }
}

static void *submit_without_pause(void *argument) {
  family *self = argument;
  while (!atomic_load(&self->stop)) submit(self, descend);
  return NULL;
}

// The other thread's tasks have children, too, and there is always one of them in flight.
static void finish_is_not_starved(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES - 1; i++) {
    family self = {.context = nesting_context(devices[i], 0)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, submit_without_pause, &self), 0);
    for (uint32_t round = 0, rounds = part_count(PUBLIC_ROUNDS); round < rounds; round++) {
      weir_event *event;
      assert_int_equal(nesting_submit(self.context, nothing, NULL, &event), WEIR_OK);
      assert_int_equal(weir_finish(self.context), WEIR_OK);
      assert_int_equal(weir_event_poll(event), WEIR_OK);
      weir_event_release(event);
    }
    atomic_store(&self.stop, true);
    pthread_join(thread, NULL);
    weir_context_release(self.context);
    assert_int_equal(atomic_load(&self.refused), 0);
  }
}

typedef struct late {
  family *family;
  atomic_bool returned;
} late;

static void *finish(void *argument) {
  late *self = argument;
  if (weir_finish(self->family->context) != WEIR_OK) atomic_fetch_add(&self->family->refused, 1);
  atomic_store(&self->returned, true);
  return NULL;
}

static void submit_after_gate(const weir_work *work) {
  family *self = work->user;
  gate_function(&(weir_work){.user = &self->door});
  submit(self, descend);
}

// A task that is submitted after the call, and does not end before it returns.
static void finish_does_not_wait_for_later_tasks(void **state) {
  (void)state;
  family self = {0};
  weir_context_options options = {.devices = "cpu:2",
                                  .window = 64}; // the later task keeps its slot, and those behind it
  assert_int_equal(weir_context_create(&options, &self.context), WEIR_OK);
  late call = {.family = &self};
  gate later = {0};
  pthread_t thread;
  submit(&self, submit_after_gate);
  gate_await(&self.door, 1);
  assert_int_equal(pthread_create(&thread, NULL, finish, &call), 0);
  usleep(20000); // long enough for the call to begin, most likely; the test holds either way
  assert_int_equal(gate_submit(self.context, &later, NULL, 0, NULL), WEIR_OK);
  assert_int_equal(weir_finish_for(self.context, 1000000), WEIR_TIMEOUT);
  assert_false(atomic_load(&call.returned));
  gate_open(&self.door);
  for (int i = 0; i < 3000 && !atomic_load(&call.returned); i++) usleep(10000);
  bool waited = !atomic_load(&call.returned);
  gate_open(&later);
  pthread_join(thread, NULL);
  assert_false(waited);
  assert_int_equal(atomic_load(&self.done), DEPTH);
  assert_int_equal(atomic_load(&self.refused), 0);
  weir_context_release(self.context);
}

static void fail_in_the_end(const weir_work *work) {
  family *self = work->user;
  if (atomic_fetch_add(&self->done, 1) < DEPTH)
    submit(self, fail_in_the_end);
  else
    weir_work_fail(work, "the last one");
}

static void finish_reports_a_childs_failure(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    family self = {.context = nesting_context(devices[i], 0)};
    submit(&self, fail_in_the_end);
    assert_int_equal(weir_finish(self.context), WEIR_ERROR_TASK_FAILED);
    assert_non_null(strstr(weir_last_error(), "the last one"));
    assert_int_equal(weir_finish(self.context), WEIR_OK);
    weir_context_release(self.context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finish_waits_for_grandchildren),
      cmocka_unit_test(finish_waits_for_what_callbacks_submit),
      cmocka_unit_test(finish_waits_for_what_destroy_functions_submit),
      cmocka_unit_test(finish_is_not_starved),
      cmocka_unit_test(finish_does_not_wait_for_later_tasks),
      cmocka_unit_test(finish_reports_a_childs_failure),
  };
  alarm(240);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
