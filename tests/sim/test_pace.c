// SPDX-License-Identifier: Apache-2.0
//
// Simulated devices of different and changing speed: how much they do until when, and several of them with one clock.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "device/sim/pace.h"
#include "weir/weir.h"

static const uint64_t US = WEIR__SIM_PS_PER_US;

static void check(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s", weir_last_error());
}

static weir__sim_profile profile_of(const char *name) {
  weir__sim_profile profile;
  check(weir__sim_profile_load(name, &profile));
  return profile;
}

// ---------------------------------------------------------------------------------------------------------------
// How much is done until when

static void a_steady_device_works_all_the_time(void **state) {
  (void)state;
  weir__sim_profile profile = profile_of("plain+speed=3");
  assert_int_equal(weir__sim_work_at(&profile, 12345), 12345);
  assert_int_equal(weir__sim_time_after(&profile, 1000, 345), 1345);
}

static void work_is_done_when_it_is_said_to_be(void **state) {
  (void)state;
  const char *const names[] = {"plain+drift=0.5", "plain+drift=0.9+drift_period_us=3.3",
                               "plain+stall_every_us=50+stall_for_us=4",
                               "plain+drift=0.3+drift_period_us=70+stall_every_us=11+stall_for_us=10+phase_us=5",
                               "plain+stall_every_us=50+stall_for_us=4+phase_us=3"};
  uint64_t seed = 1;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    weir__sim_profile profile = profile_of(names[i]);
    uint64_t before = 0;
    for (uint64_t ps = 0; ps < 200 * US; ps += US / 7) { // never falls
      uint64_t work = weir__sim_work_at(&profile, ps);
      assert_true(work >= before);
      before = work;
    }
    for (int round = 0; round < 2000; round++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      uint64_t from = (seed >> 33) % (1000 * US), work = 1 + (seed >> 20) % (300 * US);
      uint64_t end = weir__sim_time_after(&profile, from, work), start_work = weir__sim_work_at(&profile, from);
      assert_true(end > from);
      assert_true(weir__sim_work_at(&profile, end) - start_work >= work);
      assert_true(weir__sim_work_at(&profile, end - 1) - start_work < work);
    }
  }
}

static void drift_goes_up_and_down_and_evens_out(void **state) {
  (void)state;
  weir__sim_profile profile = profile_of("plain+drift=0.5+drift_period_us=3200");
  assert_int_equal(weir__sim_work_at(&profile, 3200 * US), 3200 * US);
  assert_int_equal(weir__sim_work_at(&profile, 32000 * US + 1), 32000 * US + 1);
  uint64_t first_half = weir__sim_work_at(&profile, 1600 * US);
  assert_int_equal(first_half, 1600 * US + 1600 * US / 4); // a mean of 1.25
  // A quarter in, it is as fast as it gets, and three quarters in as slow.
  uint64_t fast = weir__sim_work_at(&profile, 801 * US) - weir__sim_work_at(&profile, 800 * US);
  uint64_t slow = weir__sim_work_at(&profile, 2401 * US) - weir__sim_work_at(&profile, 2400 * US);
  assert_in_range(fast, 1460000, 1500000);
  assert_in_range(slow, 500000, 540000);
}

static void nothing_is_done_while_a_device_stands_still(void **state) {
  (void)state;
  weir__sim_profile profile = profile_of("plain+stall_every_us=50+stall_for_us=4+phase_us=10");
  assert_int_equal(weir__sim_work_at(&profile, 44 * US), weir__sim_work_at(&profile, 40 * US));
  assert_int_equal(weir__sim_time_after(&profile, 0, 40 * US), 40 * US);
  assert_int_equal(weir__sim_time_after(&profile, 0, 41 * US), 45 * US);
  assert_int_equal(weir__sim_time_after(&profile, 42 * US, 1 * US), 45 * US);
}

// ---------------------------------------------------------------------------------------------------------------
// Names

static void settings_replace_what_the_profile_says(void **state) {
  (void)state;
  weir__sim_profile profile = profile_of("h200+launch_us=7+speed=0.5+sms=3");
  assert_string_equal(profile.name, "h200+launch_us=7+speed=0.5+sms=3");
  assert_int_equal(profile.launch, 7 * US);
  assert_int_equal(profile.speed_ppm, 500000);
  assert_int_equal(profile.sms, 3);
  assert_int_equal(profile.queues, 16);
  weir__sim_profile other = profile_of("h200");
  assert_int_equal(other.speed_ppm, 1000000);
  assert_int_equal(other.drift_ppm, 0);
  assert_int_equal(other.stall_for, 0);
}

static void mistakes_in_settings_are_named(void **state) {
  (void)state;
  const char *const wrong[][2] = {
      {"plain+speed=0", "sim:plain+speed=0: speed must be from 0.001 to 1000, not 0"},
      {"plain+speed=", "not a number: ''"},
      {"plain+speed=fast", "not a number: 'fast'"},
      {"plain+drift=1", "drift must be from 0 to 0.9, not 1"},
      {"plain+pace=1", "unknown key 'pace'"},
      {"plain+speed=1+", "expected '+key=value', not ''"},
      {"plain+speed=1+drift", "expected '+key=value', not 'drift'"},
      {"plain+stall_for_us=4", "stall_for_us must be less than 'stall_every_us'"},
      {"plain+stall_every_us=4+stall_for_us=4", "stall_for_us must be less than 'stall_every_us'"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    weir__sim_profile profile;
    assert_int_equal(weir__sim_profile_load(wrong[i][0], &profile), WEIR_ERROR_INVALID_ARGUMENT);
    if (strstr(weir_last_error(), wrong[i][1]) == NULL) fail_msg("%s: %s", wrong[i][0], weir_last_error());
  }
  weir__sim_profile profile;
  assert_int_equal(weir__sim_profile_load("/nowhere/c++.profile+speed=2", &profile), WEIR_ERROR_IO);
  assert_non_null(strstr(weir_last_error(), "/nowhere/c++.profile: "));
}

// ---------------------------------------------------------------------------------------------------------------
// Devices

enum { MOST_TASKS = 64 };

typedef struct log_line {
  uint64_t ns;
  uint32_t device;
} log_line;

typedef struct scene {
  weir_context *context;
  weir_kernel *kernel;
  uint32_t left; // tasks to submit yet
  log_line lines[MOST_TASKS];
  uint32_t count;
} scene;

typedef struct worker {
  scene *s;
  uint32_t device;
} worker;

static void nothing(const weir_work *work) {
  (void)work;
}

static void open_scene(scene *s, const char *devices) {
  *s = (scene){.count = 0};
  const weir_sim_launch launch = {.threads = 1, .us = 1, .group_us = 10};
  check(weir_context_create(&(weir_context_options){.devices = devices}, &s->context));
  check(weir_kernel_create(s->context, "work", &s->kernel));
  check(weir_kernel_set_cpu(s->kernel, nothing));
  check(weir_kernel_set_sim(s->kernel, &launch, 1));
}

static void submit(scene *s, uint32_t device, uint32_t groups, weir_event **out_event) {
  weir_task task = {.kernel = s->kernel, .device = weir_context_device(s->context, device), .groups = {groups, 1, 1}};
  check(weir_submit(s->context, &task, out_event));
}

static uint64_t now(scene *s, uint32_t device) {
  return weir_device_time(weir_context_device(s->context, device));
}

static void time_follows_groups_and_speed(void **state) {
  (void)state;
  scene s;
  open_scene(&s, "sim:plain+speed=2+launch_us=0+launch_latency_us=0+synchronize_us=0");
  submit(&s, 0, 100, NULL);
  check(weir_finish(s.context));
  assert_int_equal(now(&s, 0), 500500); // (1 + 100 * 10) / 2 us
  const weir_sim_launch wrong = {.threads = 1, .group_us = -1};
  assert_int_equal(weir_kernel_set_sim(s.kernel, &wrong, 1), WEIR_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(weir_last_error(), "-1 us per work-group"));
  weir_context_release(s.context);
}

static void all_devices_have_one_clock(void **state) {
  (void)state;
  scene s;
  weir_event *event;
  open_scene(&s, "sim:plain,sim:h200,sim:plain+speed=10");
  submit(&s, 2, 100, &event);
  assert_int_equal(now(&s, 0), now(&s, 2));
  submit(&s, 0, 100, NULL);
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_OK);
  uint64_t fast = now(&s, 2);
  assert_in_range(fast, 100100, 120000);
  assert_int_equal(now(&s, 0), fast); // the slow one is not done
  check(weir_finish(s.context));
  assert_in_range(now(&s, 2), 1001000, 1020000);
  assert_int_equal(now(&s, 1), now(&s, 2));
  weir_event_release(event);
  weir_context_release(s.context);
}

// Gives its device another task when one is done.
static void go_on(void *user, weir_status status) {
  worker *w = user;
  scene *s = w->s;
  assert_int_equal(status, WEIR_OK);
  assert_true(s->count < MOST_TASKS);
  s->lines[s->count++] = (log_line){now(s, w->device), w->device};
  if (s->left == 0) return;
  s->left--;
  weir_event *event;
  submit(s, w->device, 10, &event);
  check(weir_event_on_done(event, go_on, w));
  weir_event_release(event);
}

// Tasks for whoever is free: what callbacks submit comes in time, and the order is that of virtual time.
static void callbacks_come_before_what_happens_later(void **state) {
  (void)state;
  const char *const settings = "sim:plain+launch_us=0+launch_latency_us=0+queue_gap_us=0+synchronize_us=0";
  char devices[512];
  snprintf(devices, sizeof devices, "%s,%s+speed=3,%s+speed=2", settings, settings, settings);
  for (int way = 0; way < 3; way++) {
    scene s;
    open_scene(&s, devices);
    worker workers[3];
    s.left = 33;
    for (uint32_t i = 0; i < 3; i++) {
      workers[i] = (worker){&s, i};
      weir_event *event;
      submit(&s, i, 10, &event);
      check(weir_event_on_done(event, go_on, &workers[i]));
      weir_event_release(event);
    }
    weir_event *last = NULL;
    if (way == 1) { // a task that is done long after the others
      submit(&s, 0, 1000000, &last);
      assert_int_equal(weir_event_wait(last, WEIR_FOREVER), WEIR_OK);
      weir_event_release(last);
    } else if (way == 2) {
      while (s.count < 36) {
        submit(&s, 0, 0, &last);
        while (weir_event_poll(last) == WEIR_PENDING) continue;
        weir_event_release(last);
      }
    }
    while (s.count < 36) check(weir_finish(s.context)); // which waits for what was submitted before
    assert_int_equal(s.count, 36);
    uint32_t by_device[3] = {0};
    for (uint32_t i = 0; i < s.count; i++) {
      by_device[s.lines[i].device]++;
      assert_true(i == 0 || s.lines[i].ns >= s.lines[i - 1].ns);
    }
    weir_context_release(s.context);
    if (way != 0) continue;
    assert_int_equal(by_device[0], 6);
    assert_int_equal(by_device[1], 18);
    assert_int_equal(by_device[2], 12);
    assert_in_range(s.lines[35].ns, 6 * 101000 - 100, 6 * 101000 + 100); // nobody was idle
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_steady_device_works_all_the_time),
      cmocka_unit_test(work_is_done_when_it_is_said_to_be),
      cmocka_unit_test(drift_goes_up_and_down_and_evens_out),
      cmocka_unit_test(nothing_is_done_while_a_device_stands_still),
      cmocka_unit_test(settings_replace_what_the_profile_says),
      cmocka_unit_test(mistakes_in_settings_are_named),
      cmocka_unit_test(time_follows_groups_and_speed),
      cmocka_unit_test(all_devices_have_one_clock),
      cmocka_unit_test(callbacks_come_before_what_happens_later),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
