// SPDX-License-Identifier: Apache-2.0
//
// Version, statuses, error texts, contexts and their options, devices, probing.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "api.h"

static void version_is_that_of_the_header(void **state) {
  (void)state;
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR, WEIR_VERSION_PATCH);
  assert_string_equal(weir_version(), version);
}

static void every_status_has_a_name_and_a_text(void **state) {
  (void)state;
  assert_string_equal(weir_status_name(WEIR_OK), "WEIR_OK");
  assert_string_equal(weir_status_name(WEIR_ERROR_IO), "WEIR_ERROR_IO");
  for (int i = 0; i <= WEIR_ERROR_IO; i++) {
    assert_memory_equal(weir_status_name((weir_status)i), "WEIR_", 5);
    assert_true(strlen(weir_status_text((weir_status)i)) > 3);
    for (int j = 0; j < i; j++)
      assert_string_not_equal(weir_status_name((weir_status)i), weir_status_name((weir_status)j));
  }
  assert_string_equal(weir_status_name((weir_status)99), "unknown status");
  assert_string_equal(weir_status_name((weir_status)-1), "unknown status");
  assert_non_null(weir_status_text((weir_status)99));
}

static void *last_error_of_fresh_thread(void *user) {
  strcpy(user, weir_last_error());
  return NULL;
}

static void last_error_belongs_to_its_thread(void **state) {
  (void)state;
  assert_int_not_equal(weir_context_create(NULL, NULL), WEIR_OK);
  assert_true(strlen(weir_last_error()) > 0);
  char text[512] = "not set";
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, last_error_of_fresh_thread, text), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_string_equal(text, "");
}

static void null_options_are_defaults(void **state) {
  (void)state;
  weir_context *context = NULL;
  api_expect(weir_context_create(NULL, &context), WEIR_OK, NULL);
  weir_statistics statistics;
  weir_context_statistics(context, &statistics);
  assert_int_equal(statistics.window, 1024);
  assert_int_equal(statistics.tasks, 0);
  assert_int_equal(weir_context_device_count(context), 1);
  assert_string_equal(weir_device_information(weir_context_device(context, 0))->kind, "cpu");
  weir_context_release(context);
  weir_context_release(NULL);
}

static void expect_refused(weir_context_options options, weir_status wanted, const char *text) {
  weir_context *context = (weir_context *)&options;
  api_expect(weir_context_create(&options, &context), wanted, text, NULL);
  assert_null(context);
}

static void bad_options_are_refused(void **state) {
  (void)state;
  expect_refused((weir_context_options){.window = 7}, WEIR_ERROR_INVALID_ARGUMENT, "7");
  expect_refused((weir_context_options){.window = 1}, WEIR_ERROR_INVALID_ARGUMENT, "window");
  expect_refused((weir_context_options){.window = (1u << 24) + 1}, WEIR_ERROR_INVALID_ARGUMENT, "window");
  expect_refused((weir_context_options){.flags = 1u << 31}, WEIR_ERROR_INVALID_ARGUMENT, "flags");
  expect_refused((weir_context_options){.devices = "quantum"}, WEIR_ERROR_INVALID_ARGUMENT, "quantum");
  expect_refused((weir_context_options){.devices = "cpu:0"}, WEIR_ERROR_INVALID_ARGUMENT, "0");
  expect_refused((weir_context_options){.devices = "cpu:x"}, WEIR_ERROR_INVALID_ARGUMENT, "x");
  expect_refused((weir_context_options){.devices = "cpu:-1"}, WEIR_ERROR_INVALID_ARGUMENT, "-1");
  expect_refused((weir_context_options){.devices = "cpu:99999999999"}, WEIR_ERROR_INVALID_ARGUMENT, "99999999999");
  expect_refused((weir_context_options){.devices = "cpu:2x"}, WEIR_ERROR_INVALID_ARGUMENT, "2x");
  expect_refused((weir_context_options){.devices = "cpuu"}, WEIR_ERROR_INVALID_ARGUMENT, "cpuu");
  expect_refused((weir_context_options){.devices = ""}, WEIR_ERROR_INVALID_ARGUMENT, NULL);
  expect_refused((weir_context_options){.devices = ","}, WEIR_ERROR_INVALID_ARGUMENT, NULL);
  expect_refused((weir_context_options){.devices = "cpu,"}, WEIR_ERROR_INVALID_ARGUMENT, NULL);
  expect_refused((weir_context_options){.devices = "cpu:1,quantum"}, WEIR_ERROR_INVALID_ARGUMENT, "quantum");
}

static void unknown_kind_lists_those_known(void **state) {
  (void)state;
  weir_context *context;
  api_expect(weir_context_create(&(weir_context_options){.devices = "gpu"}, &context), WEIR_ERROR_INVALID_ARGUMENT,
             "'gpu'", "cpu, cuda, opencl, sim, vulkan", NULL);
}

static void unknown_profile_is_refused(void **state) {
  (void)state;
  weir_context_options options = {.devices = "sim:no-such-profile"};
  weir_context *context = (weir_context *)&options;
  weir_status status = weir_context_create(&options, &context);
  assert_true(status == WEIR_ERROR_INVALID_ARGUMENT || status == WEIR_ERROR_IO || status == WEIR_ERROR_UNAVAILABLE);
  assert_non_null(strstr(weir_last_error(), "no-such-profile"));
  assert_non_null(strstr(weir_last_error(), "known profiles: "));
  assert_null(context);
}

static void window_is_rounded_up(void **state) {
  (void)state;
  static const uint32_t pairs[][2] = {{8, 8}, {9, 16}, {32, 32}, {33, 64}, {1000, 1024}};
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    weir_context *context = api_context("cpu:1", pairs[i][0], 0);
    weir_statistics statistics;
    weir_context_statistics(context, &statistics);
    assert_int_equal(statistics.window, pairs[i][1]);
    weir_context_release(context);
  }
}

static void largest_window_works(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 1u << 24, 0);
  weir_buffer *number = api_number(context, 5);
  assert_int_equal(api_read_number(number), 5);
  weir_context_release(context);
}

static void devices_describe_themselves(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:3", 0, 0);
  assert_int_equal(weir_context_device_count(context), 1);
  weir_device *device = weir_context_device(context, 0);
  assert_string_equal(weir_device_information(device)->kind, "cpu");
  assert_string_equal(weir_device_information(device)->name, "cpu:3");
  assert_int_equal(weir_device_information(device)->lanes, 3);
  assert_true(strlen(weir_device_information(device)->description) > 0);
  assert_null(weir_context_device(context, 1));
  assert_null(weir_context_device(context, UINT32_MAX));
  uint64_t before = weir_device_time(device);
  assert_true(weir_device_time(device) >= before);
  weir_context_release(context);
}

static void count_probe(void *user, const char *kind, bool available, const char *text) {
  unsigned *found = user;
  assert_non_null(text);
  if (strcmp(kind, "cpu") == 0 && available) found[0]++;
  if (strcmp(kind, "sim") == 0 && available) found[1]++;
}

static void probe_finds_cpu_and_sim(void **state) {
  (void)state;
  unsigned found[2] = {0, 0};
  weir_probe(count_probe, found);
  assert_int_equal(found[0], 1);
  assert_int_equal(found[1], 1);
}

static void many_contexts_live_side_by_side(void **state) {
  (void)state;
  weir_context *contexts[8];
  weir_buffer *numbers[8];
  for (uint64_t i = 0; i < 8; i++) {
    contexts[i] = api_context("cpu:1", 8, 0);
    numbers[i] = api_number(contexts[i], i);
  }
  for (uint64_t i = 0; i < 8; i++) assert_int_equal(api_read_number(numbers[i]), i);
  for (int i = 0; i < 8; i++) weir_context_release(contexts[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(version_is_that_of_the_header),
      cmocka_unit_test(every_status_has_a_name_and_a_text),
      cmocka_unit_test(last_error_belongs_to_its_thread),
      cmocka_unit_test(null_options_are_defaults),
      cmocka_unit_test(bad_options_are_refused),
      cmocka_unit_test(unknown_kind_lists_those_known),
      cmocka_unit_test(unknown_profile_is_refused),
      cmocka_unit_test(window_is_rounded_up),
      cmocka_unit_test(largest_window_works),
      cmocka_unit_test(devices_describe_themselves),
      cmocka_unit_test(probe_finds_cpu_and_sim),
      cmocka_unit_test(many_contexts_live_side_by_side),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
