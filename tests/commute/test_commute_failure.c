// SPDX-License-Identifier: Apache-2.0
//
// Tasks that commute and fail: those that ran before stay, those that come after are skipped, whatever was submitted meanwhile.
#include "api.h"

#include "weir/reduce.h"

// A context with a number, another one that a task at a gate updates, and tasks that wait for it.
typedef struct scene {
  weir_context *context;
  weir_buffer *sum, *late;
  gate gate;
} scene;

static void open_scene(scene *self) {
  *self = (scene){.context = api_context("cpu:2", 0, 0)};
  self->sum = api_number(self->context, 0);
  self->late = api_number(self->context, 1);
  api_expect(gate_submit(self->context, &self->gate, (weir_arg[]){weir_updates(self->late)}, 1, NULL), WEIR_OK, NULL);
}

// Adds the late number, when it is there.
static weir_event *add_late(scene *self) {
  weir_arg args[] = {weir_reads(self->late), weir_commutes(self->sum)};
  return api_submit_host(self->context, api_add, NULL, args, 2);
}

static weir_event *add_now(scene *self, weir_buffer *number) {
  weir_arg args[] = {weir_reads(number), weir_commutes(self->sum)};
  return api_submit_host(self->context, api_add, NULL, args, 2);
}

static void one_fails(void **state) {
  (void)state;
  scene self;
  open_scene(&self);
  weir_buffer *one = api_number(self.context, 1), *seen = api_number(self.context, 0);
  weir_event *late = add_late(&self);
  assert_int_equal(api_await(add_now(&self, one)), WEIR_OK);
  weir_event *failed = api_submit_host(self.context, api_fail, NULL, (weir_arg[]){weir_commutes(self.sum)}, 1);
  assert_int_equal(api_await(failed), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(api_await(add_now(&self, one)), WEIR_ERROR_UPSTREAM_FAILED);
  weir_event *copied = NULL, *healed = NULL;
  api_expect(weir_copy(seen, 0, self.sum, 0, 8, &copied), WEIR_OK, NULL);
  api_expect(weir_fill(self.sum, 0, WEIR_WHOLE, 0, &healed), WEIR_OK, NULL);
  weir_event *after = add_now(&self, one);
  assert_int_equal(api_await(after), WEIR_OK);
  assert_int_equal(api_read_number(self.sum), 1);
  gate_open(&self.gate);
  assert_int_equal(api_await(late), WEIR_ERROR_UPSTREAM_FAILED); // though it was submitted before the one that failed
  assert_int_equal(api_await(copied), WEIR_ERROR_UPSTREAM_FAILED);
  weir_event_release(healed);
  weir_context_release(self.context);
}

// Overwritten without renaming: those that were submitted after that do not hear of the failure before it.
static void overwritten_between(void **state) {
  (void)state;
  scene self;
  uint64_t memory[2] = {0};
  open_scene(&self);
  weir_buffer *numbers, *one = api_number(self.context, 1);
  api_expect(weir_buffer_wrap(self.context, memory, sizeof memory, &numbers), WEIR_OK, NULL);
  self.sum = numbers;
  gate second = {0};
  api_expect(gate_submit(self.context, &second, (weir_arg[]){weir_commutes(numbers)}, 1, NULL), WEIR_OK, NULL);
  gate_await(&second, 1);
  weir_event *failed = api_submit_host(self.context, api_fail, NULL, (weir_arg[]){weir_commutes(numbers)}, 1);
  weir_event *early = add_late(&self);
  api_expect(weir_fill(numbers, 0, 8, 0, NULL), WEIR_OK, NULL);
  weir_arg low[] = {weir_reads(one), weir_commutes_range(numbers, 0, 8)};
  weir_arg high[] = {weir_reads(one), weir_commutes_range(numbers, 8, 8)};
  weir_event *healed = api_submit_host(self.context, api_add, NULL, low, 2);
  weir_event *poisoned = api_submit_host(self.context, api_add, NULL, high, 2);
  gate_open(&second);
  assert_int_equal(api_await(failed), WEIR_ERROR_TASK_FAILED);
  gate_open(&self.gate);
  assert_int_equal(api_await(early), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(api_await(healed), WEIR_OK);
  assert_int_equal(api_await(poisoned), WEIR_ERROR_UPSTREAM_FAILED);
  weir_finish(self.context);
  assert_int_equal(memory[0], 1);
  weir_context_release(self.context);
}

static void cancelled(void **state) {
  (void)state;
  scene self;
  open_scene(&self);
  weir_event *events[40];
  weir_buffer *one = api_number(self.context, 1);
  for (int i = 0; i < 40; i++) events[i] = i % 2 == 0 ? add_late(&self) : add_now(&self, one);
  weir_context_cancel(self.context);
  gate_open(&self.gate);
  bool skipped = false;
  for (int i = 0; i < 40; i++) {
    weir_status status = api_await(events[i]);
    assert_true(status == WEIR_OK || status == WEIR_ERROR_CANCELLED || status == WEIR_ERROR_UPSTREAM_FAILED);
    if (i % 2 == 0) assert_int_not_equal(status, WEIR_OK);
    skipped |= status != WEIR_OK;
  }
  assert_true(skipped);
  weir_finish(self.context);
  uint64_t ignored;
  assert_int_equal(api_read(self.sum, 0, 8, &ignored), WEIR_ERROR_UPSTREAM_FAILED);
  api_expect(weir_fill(self.sum, 0, WEIR_WHOLE, 0, NULL), WEIR_OK, NULL);
  assert_int_equal(api_await(add_now(&self, one)), WEIR_OK);
  assert_int_equal(api_read_number(self.sum), 1);
  weir_context_release(self.context);
}

// Released with tasks in flight; and a failure of very many is not looked for each time anew.
static void released_meanwhile(void **state) {
  (void)state;
  enum { MANY = 3000 };
  scene self;
  weir_context_options options = {.devices = "cpu:2", .window = 4096};
  self = (scene){0};
  api_expect(weir_context_create(&options, &self.context), WEIR_OK, NULL);
  self.sum = api_number(self.context, 0);
  self.late = api_number(self.context, 1);
  api_expect(gate_submit(self.context, &self.gate, (weir_arg[]){weir_updates(self.late)}, 1, NULL), WEIR_OK, NULL);
  weir_arg failing[] = {weir_commutes(self.sum)};
  weir_event *last = NULL;
  for (int i = 0; i < MANY; i++) {
    weir_event_release(last);
    last = add_late(&self);
  }
  assert_int_equal(api_await(api_submit_host(self.context, api_fail, NULL, failing, 1)), WEIR_ERROR_TASK_FAILED);
  weir_buffer_release(self.sum);
  gate_open(&self.gate);
  assert_int_equal(api_await(last), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(weir_finish(self.context), WEIR_ERROR_TASK_FAILED);
  weir_statistics statistics;
  weir_context_statistics(self.context, &statistics);
  assert_int_equal(statistics.failed, MANY + 1);
  weir_context_release(self.context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_fails),
      cmocka_unit_test(overwritten_between),
      cmocka_unit_test(cancelled),
      cmocka_unit_test(released_meanwhile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
