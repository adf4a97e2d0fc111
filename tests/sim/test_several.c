// SPDX-License-Identifier: Apache-2.0
//
// Tasks that name no device, on several simulated devices of known speeds: virtual time tells how well they are placed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/sim.h"

enum { BUFFERS = 16, TASKS = 800 };

static void ok(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

static void add_one(const weir_work *work) {
  uint64_t value;
  memcpy(&value, work->args[0], sizeof value);
  value = value * 3 + 1;
  memcpy(work->args[0], &value, sizeof value);
}

typedef struct run {
  const char *devices;
  uint32_t flags;
  uint32_t chains; // of tasks that depend on each other
  double us;       // of a task
} run;

// Virtual microseconds that all tasks take.
static double time_of(const run *self) {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *buffers[BUFFERS];
  weir_context_options options = {.devices = self->devices, .flags = self->flags, .window = 64};
  ok(weir_context_create(&options, &context));
  ok(weir_kernel_create(context, "work", &kernel));
  ok(weir_kernel_set_cpu(kernel, add_one));
  ok(weir_kernel_set_sim(kernel, &(weir_sim_launch){.blocks = 1, .threads = 64, .us = self->us}, 1));
  for (uint32_t i = 0; i < self->chains; i++) {
    ok(weir_buffer_create(context, sizeof(uint64_t), &buffers[i]));
    ok(weir_fill(buffers[i], 0, sizeof(uint64_t), 0, NULL));
  }
  ok(weir_finish(context));
  weir_device *first = weir_context_device(context, 0);
  uint64_t start = weir_device_time(first), expected = 0, value;
  for (uint32_t i = 0; i < TASKS; i++) {
    weir_arg arg = weir_updates(buffers[i % self->chains]);
    ok(weir_submit(context, &(weir_task){.kernel = kernel, .args = &arg, .arg_count = 1}, NULL));
  }
  ok(weir_finish(context));
  double us = (double)(weir_device_time(first) - start) / 1000;
  for (uint32_t i = 0; i < TASKS / self->chains; i++) expected = expected * 3 + 1;
  for (uint32_t i = 0; i < self->chains; i++) {
    ok(weir_read(buffers[i], 0, sizeof value, &value));
    assert_int_equal(value, expected);
  }
  ok(weir_context_release(context));
  return us;
}

static double speedup(const char *devices, double us) {
  run one = {.devices = "sim:plain", .chains = BUFFERS, .us = us}, all = one;
  all.devices = devices;
  all.flags = WEIR_CONTEXT_PLACE;
  return time_of(&one) / time_of(&all);
}

static void expect_in(double value, double least, double most) {
  if (value < least || value > most) fail_msg("%g is not from %g to %g", value, least, most);
}

static void equal_devices_share_the_work(void **state) {
  (void)state;
  expect_in(speedup("sim:plain,sim:plain", 100), 1.9, 2.0);
  expect_in(speedup("sim:plain,sim:plain,sim:plain,sim:plain", 100), 3.5, 4.0);
}

static void a_faster_device_gets_more(void **state) {
  (void)state;
  expect_in(speedup("sim:plain,sim:plain+speed=3", 100), 3.5, 4.1);
  // The tasks of the first window are spread before anything is known, a third of them to the slow one.
  expect_in(speedup("sim:plain+speed=3,sim:plain,sim:plain+speed=0.2", 100), 2.5, 4.3);
}

// Speeds that change while the program runs are followed.
static void speeds_are_followed(void **state) {
  (void)state;
  expect_in(speedup("sim:plain,sim:plain+drift=0.5+drift_period_us=20000", 100), 1.7, 2.1);
}

// Without the flag all goes to the first device, and one chain gains nothing from two devices, but loses nothing either.
static void where_nothing_can_be_gained_nothing_is_lost(void **state) {
  (void)state;
  run one = {.devices = "sim:plain", .chains = BUFFERS, .us = 100}, two = one;
  two.devices = "sim:plain,sim:plain";
  expect_in(time_of(&one) / time_of(&two), 0.999, 1.001);
  one.chains = two.chains = 1;
  two.flags = WEIR_CONTEXT_PLACE;
  expect_in(time_of(&one) / time_of(&two), 0.9, 1.1);
}

static void results_come_again(void **state) {
  (void)state;
  run self = {.devices = "sim:plain,sim:h200,sim:plain+speed=2", .flags = WEIR_CONTEXT_PLACE, .chains = 8, .us = 30};
  double us = time_of(&self);
  for (int i = 0; i < 3; i++) assert_true(time_of(&self) == us);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_devices_share_the_work), cmocka_unit_test(a_faster_device_gets_more),
      cmocka_unit_test(speeds_are_followed),          cmocka_unit_test(where_nothing_can_be_gained_nothing_is_lost),
      cmocka_unit_test(results_come_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
