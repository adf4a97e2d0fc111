// SPDX-License-Identifier: Apache-2.0
//
// Profiles: what is read, and what is refused with file and line.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/sim/builtin.h"
#include "device/sim/profile.h"

// The text of a built-in profile with one piece of it replaced; the caller frees it.
static char *edited(const char *name, const char *old, const char *new) {
  const weir__sim_builtin *builtin = weir__sim_builtins;
  while (strcmp(builtin->name, name) != 0) builtin++;
  char *text = calloc(1, builtin->bytes + strlen(new) + 1);
  assert_non_null(text);
  memcpy(text, builtin->text, builtin->bytes);
  char *at = strstr(text, old);
  assert_non_null(at);
  memmove(at + strlen(new), at + strlen(old), strlen(at + strlen(old)) + 1);
  memcpy(at, new, strlen(new));
  return text;
}

static void refused(const char *old, const char *new, const char *expected) {
  char *text = edited("h200", old, new);
  weir__sim_profile profile;
  assert_int_equal(weir__sim_profile_parse("my.profile", text, strlen(text), &profile), WEIR_ERROR_INVALID_ARGUMENT);
  if (strstr(weir_last_error(), expected) == NULL || strstr(weir_last_error(), "my.profile:") == NULL)
    fail_msg("'%s' does not say '%s'", weir_last_error(), expected);
  free(text);
}

static void the_built_in_ones_are_read(void **state) {
  (void)state;
  weir__sim_profile profile;
  assert_int_equal(weir__sim_profile_load("h200", &profile), WEIR_OK);
  assert_string_equal(profile.name, "h200");
  assert_int_equal(profile.sms, 132);
  assert_int_equal(profile.sharing, WEIR__SIM_SHARING_BLOCKS);
  assert_int_equal(profile.event_record, 130000);
  assert_int_equal(profile.copy_share_ppm, 50000);
  assert_int_equal(weir__sim_profile_load("ideal", &profile), WEIR_OK);
  assert_int_equal(profile.queues, 0);
  assert_int_equal(profile.launch, 0);
  assert_int_equal(profile.sharing, WEIR__SIM_SHARING_FLUID);
}

static void a_file_is_read(void **state) {
  (void)state;
  char path[] = "/tmp/weir_profile_XXXXXX";
  int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  char *text = edited("ideal", "sms = 132", "\tsms=7   # few\r");
  FILE *file = fdopen(descriptor, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
  weir__sim_profile profile;
  weir_status status = weir__sim_profile_load(path, &profile);
  remove(path);
  free(text);
  assert_int_equal(status, WEIR_OK);
  assert_int_equal(profile.sms, 7);
  assert_string_equal(profile.name, strrchr(path, '/') + 1);
}

static void mistakes_are_named_with_file_and_line(void **state) {
  (void)state;
  refused("sms = 132", "sms = 0", ":4: sms must be from 1 to 65536, not 0");
  refused("sms = 132", "sms = 1.5", ":4: not a whole number: '1.5'");
  refused("sms = 132", "sms = many", ":4: not a number: 'many'");
  refused("sms = 132", "sms = nan", ":4: not a number: 'nan'");
  refused("sms = 132", "sms = 0x10", ":4: not a number: '0x10'");
  refused("sms = 132", "sms =", ":4: not a number: ''");
  refused("sms = 132", "sms", ":4: expected 'key = value', not 'sms'");
  refused("sms = 132", "smms = 132", ":4: unknown key 'smms'");
  refused("sms = 132", "sms = 132\nsms = 132", ":5: sms was given before, in line 4");
  refused("sms = 132", "# none", "the file ends without the key 'sms'");
  refused("sharing = blocks", "sharing = some", "sharing is 'blocks' or 'fluid', not 'some'");
  refused("launch_us = 3.35", "launch_us = -1", "launch_us must be from 0 to 1000000, not -1");
  refused("launch_us = 3.35", "launch_us = 1e400", "launch_us must be from 0");
  refused("copy_share = 0.05", "copy_share = 2", "copy_share must be from 0 to 1, not 2");
}

static void what_is_no_profile_is_refused(void **state) {
  (void)state;
  weir__sim_profile profile;
  assert_int_equal(weir__sim_profile_load("/nowhere/at.all", &profile), WEIR_ERROR_IO);
  assert_non_null(strstr(weir_last_error(), "/nowhere/at.all: "));
  assert_int_equal(weir__sim_profile_load("/", &profile), WEIR_ERROR_IO);
  assert_int_equal(weir__sim_profile_parse("x", "", 0, &profile), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir__sim_profile_parse("x", "sms = 1\0 2", 10, &profile), WEIR_ERROR_INVALID_ARGUMENT);
  char line[1000];
  memset(line, 'x', sizeof line);
  assert_int_equal(weir__sim_profile_parse("x", line, sizeof line, &profile), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir__sim_profile_load("/dev/zero", &profile), WEIR_ERROR_INVALID_ARGUMENT);
}

static void every_part_of_a_built_in_one_is_read_without_a_crash(void **state) {
  (void)state;
  const weir__sim_builtin *builtin = weir__sim_builtins;
  for (size_t bytes = 0; bytes < builtin->bytes; bytes++) {
    weir__sim_profile profile;
    (void)weir__sim_profile_parse("part", builtin->text, bytes, &profile);
  }
}

static weir__sim_cost cost_of(const weir_sim_launch *launch) {
  weir__sim_profile profile;
  assert_int_equal(weir__sim_profile_load("ideal", &profile), WEIR_OK);
  weir__sim_cost cost;
  weir__sim_profile_cost(&profile, launch, 10, &cost);
  return cost;
}

static void occupancy_is_the_least_that_a_resource_allows(void **state) {
  (void)state;
  const struct {
    uint32_t threads, registers, shared_bytes, per_sm;
  } cases[] = {
      {1024, 16, 0, 2}, {1000, 16, 0, 2},        {128, 16, 0, 16},  {32, 16, 0, 32},       {256, 128, 0, 2},
      {256, 121, 0, 2}, {128, 16, 100 << 10, 2}, {1024, 255, 0, 1}, {32, 0, 300 << 10, 1}, {33, 0, 0, 32},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    weir__sim_cost cost = cost_of(&(weir_sim_launch){.blocks = 1,
                                                     .threads = cases[i].threads,
                                                     .registers = cases[i].registers,
                                                     .shared_bytes = cases[i].shared_bytes,
                                                     .us = 1});
    assert_int_equal(cost.units, WEIR__SIM_SM_UNITS / cases[i].per_sm);
  }
  assert_int_equal(cost_of(&(weir_sim_launch){.threads = 32, .us = 1}).blocks, 10); // one per work-group
  weir__sim_cost waves = cost_of(&(weir_sim_launch){.blocks = 2 * 132 * 2 + 1, .threads = 1024, .us = 9});
  assert_int_equal(waves.block_ps, 3000000);
  weir__sim_cost copy = cost_of(&(weir_sim_launch){.copy_bytes = 5, .us = 2});
  assert_true(copy.copy);
  assert_int_equal(copy.alone_ps, 2000000);
  assert_true(cost_of(&(weir_sim_launch){.blocks = 1, .threads = 1, .us = 1e300}).alone_ps > 0); // and no overflow
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_built_in_ones_are_read),
      cmocka_unit_test(a_file_is_read),
      cmocka_unit_test(mistakes_are_named_with_file_and_line),
      cmocka_unit_test(what_is_no_profile_is_refused),
      cmocka_unit_test(every_part_of_a_built_in_one_is_read_without_a_crash),
      cmocka_unit_test(occupancy_is_the_least_that_a_resource_allows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
