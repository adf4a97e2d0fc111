// SPDX-License-Identifier: Apache-2.0
//
// Real splits on simulated devices: how much of what all devices could do together each policy makes use of, in virtual time.
#include <stdio.h>
#include <string.h>

#include "rig.h"
#include "virtual.h"

enum { LAUNCHES = 60, WARM = 10, ROWS = 97, WIDTH = 16, CELLS = ROWS * WIDTH };

static const char *const policies[] = {"static", "history", "queue", "guided", "frames", "auto"};
enum { POLICIES = sizeof policies / sizeof policies[0] };

// Small tests try some of the cases where one is like the other, others for each policy.
#ifdef WEIR_SMALL_TESTS
enum { CASE_STEP = 5 };
#else
enum { CASE_STEP = 1 };
#endif

static double mean(const virtual_case *c, const char *policy) {
  double efficiency = virtual_efficiency(c, policy, LAUNCHES, WARM);
  if (efficiency < 0) fail_msg("%s, %s: %s", c->name, policy, weir_last_error());
  return efficiency;
}

static void check_auto(change kind, double least) {
  for (uint32_t i = 0; i < virtual_case_count; i++) {
    if (virtual_cases[i].change != kind) continue;
    double efficiency = mean(&virtual_cases[i], "auto");
    if (efficiency < least) fail_msg("%s: %.3f, less than %.2f", virtual_cases[i].name, efficiency, least);
  }
}

static void auto_is_good_when_speeds_are_constant(void **state) {
  (void)state;
  check_auto(CONSTANT, 0.95);
}

static void auto_is_good_when_speeds_drift(void **state) {
  (void)state;
  check_auto(DRIFTING, 0.90);
}

// Before anything was measured: devices whose speed is not known yet are left something.
static void guided_is_good_from_the_first_launch_on(void **state) {
  (void)state;
  for (uint32_t i = 0; i < virtual_case_count; i++) {
    virtual_run run;
    rig_ok(virtual_simulate(&virtual_cases[i], "guided", 1, &run));
    if (run.efficiency[0] < 0.95) fail_msg("%s: %.3f", virtual_cases[i].name, run.efficiency[0]);
  }
}

static void auto_is_good_when_one_device_stalls(void **state) {
  (void)state;
  check_auto(FIRST_STALLS, 0.90);
}

// Two to eight devices, the fastest 1 to 20 times as fast as the slowest.
static void auto_is_good_for_any_number_of_devices(void **state) {
  (void)state;
  const double ratios[] = {1, 2, 5, 10, 20};
  for (uint32_t devices = 2; devices <= 8; devices++) {
    for (uint32_t i = 0; i < 2 * sizeof ratios / sizeof *ratios; i++) {
      virtual_case c = {.change = i % 2 == 0 ? CONSTANT : DRIFTING, .device_count = devices, .group_us = 0.01};
      double all = 0;
      for (uint32_t device = 0; device < devices; device++) {
        c.speeds[device] = 1 + (ratios[i / 2] - 1) * device / (devices - 1);
        all += c.speeds[device];
      }
      c.groups = (uint32_t)(400000 * all); // 4 ms
      c.name = i % 2 == 0 ? "constant" : "drifting";
      double efficiency = mean(&c, "auto"), least = i % 2 == 0 ? 0.95 : 0.90;
      if (efficiency < least) fail_msg("%u devices, 1:%g, %s: %.3f", devices, ratios[i / 2], c.name, efficiency);
    }
  }
}

static double mix(const char *policy) {
  double sum = 0;
  for (uint32_t i = 0; i < virtual_case_count; i++) sum += mean(&virtual_cases[i], policy);
  return sum / virtual_case_count;
}

static void auto_beats_every_fixed_policy_on_the_mix(void **state) {
  (void)state;
  double ours = mix("auto");
  for (size_t i = 0; i + 1 < POLICIES; i++) {
    double theirs = mix(policies[i]);
    if (ours <= theirs) fail_msg("auto %.4f, %s %.4f", ours, policies[i], theirs);
  }
}

// Nobody does better than all devices together, and what devices did adds up.
static void every_policy_finishes_every_launch(void **state) {
  (void)state;
  for (size_t p = 0; p < POLICIES; p++) {
    for (uint32_t i = (uint32_t)p % CASE_STEP; i < virtual_case_count; i += CASE_STEP) {
      virtual_run run;
      rig_ok(virtual_simulate(&virtual_cases[i], policies[p], LAUNCHES, &run));
      uint64_t groups = 0;
      for (uint32_t device = 0; device < run.last.device_count; device++) groups += run.last.devices[device].groups;
      assert_int_equal(groups, virtual_cases[i].groups);
      assert_int_equal(run.redone, 0);
      for (uint32_t launch = 0; launch < LAUNCHES; launch++) {
        if (run.efficiency[launch] <= 0 || run.efficiency[launch] > 1)
          fail_msg("%s, %s, launch %u: %.3f", policies[p], virtual_cases[i].name, launch, run.efficiency[launch]);
      }
    }
  }
}

static void times_are_the_same_in_every_run(void **state) {
  (void)state;
  for (size_t p = 0; p < POLICIES; p++) {
    for (uint32_t i = (uint32_t)p % CASE_STEP; i < virtual_case_count; i += CASE_STEP) {
      virtual_run first, second;
      rig_ok(virtual_simulate(&virtual_cases[i], policies[p], LAUNCHES, &first));
      rig_ok(virtual_simulate(&virtual_cases[i], policies[p], LAUNCHES, &second));
      assert_memory_equal(first.end_ns, second.end_ns, LAUNCHES * sizeof *first.end_ns);
    }
  }
}

// Devices that are equally fast finish pieces at the same time, for which all devices are free at once.
static void pieces_go_to_whoever_is_free(void **state) {
  (void)state;
  virtual_case c = {.name = "1:3", .device_count = 2, .speeds = {1, 3}, .groups = 1000000, .group_us = 0.01};
  virtual_run run;
  rig_ok(virtual_simulate(&c, "queue", 1, &run)); // nothing is known in the first launch
  const weir_split_device_round *slow = &run.last.devices[0], *fast = &run.last.devices[1];
  assert_true(slow->parts > 4);
  assert_true(fast->parts > 2 * slow->parts);
  assert_true(fast->groups > 2 * slow->groups);
  assert_true(slow->end_ns > fast->start_ns && fast->end_ns > slow->start_ns);
}

static void results_are_those_of_one_device(void **state) {
  (void)state;
  static uint32_t cells[CELLS], expected[CELLS], found[CELLS], words[16];
  const rig_field field = {.rows = ROWS, .width = WIDTH, .reach = 2, .value = 7};
  for (uint32_t i = 0; i < CELLS; i++) cells[i] = i * 77;
  for (uint32_t i = 0; i < 16; i++) words[i] = i * i;
  rig_reference(&field, words, cells, expected);
  char devices[1024];
  virtual_devices(&virtual_cases[virtual_case_count - 1], devices, sizeof devices);
  for (size_t p = 0; p < POLICIES; p++) {
    weir_context *context;
    weir_split *split;
    weir_buffer *in, *out, *table;
    weir_split_arg args[RIG_ARGS];
    rig_ok(weir_context_create(&(weir_context_options){.devices = devices}, &context));
    rig_ok(weir_split_create(context, &(weir_split_options){.policy = policies[p]}, &split));
    rig_ok(weir_buffer_wrap(context, cells, sizeof cells, &in));
    rig_ok(weir_buffer_create(context, sizeof cells, &out));
    rig_ok(weir_buffer_wrap(context, words, sizeof words, &table));
    rig_args(args, &field, weir_reads(in), weir_writes(out), table);
    weir_split_launch launch = {
        .kernel = rig_kernel(context), .args = args, .arg_count = RIG_ARGS, .groups = {WIDTH, ROWS, 1}, .dimension = 1};
    for (int i = 0; i < 3; i++) {
      memset(found, 0, sizeof found);
      rig_ok(weir_split_submit(split, &launch, NULL));
      rig_ok(weir_copy_out(out, 0, sizeof found, found, NULL));
      rig_ok(weir_finish(context));
      assert_memory_equal(found, expected, sizeof found);
    }
    rig_ok(weir_split_release(split));
    weir_context_release(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(auto_is_good_when_speeds_are_constant),
      cmocka_unit_test(auto_is_good_when_speeds_drift),
      cmocka_unit_test(guided_is_good_from_the_first_launch_on),
      cmocka_unit_test(auto_is_good_when_one_device_stalls),
      cmocka_unit_test(auto_is_good_for_any_number_of_devices),
      cmocka_unit_test(auto_beats_every_fixed_policy_on_the_mix),
      cmocka_unit_test(every_policy_finishes_every_launch),
      cmocka_unit_test(times_are_the_same_in_every_run),
      cmocka_unit_test(pieces_go_to_whoever_is_free),
      cmocka_unit_test(results_are_those_of_one_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
