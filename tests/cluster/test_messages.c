// SPDX-License-Identifier: Apache-2.0
//
// Messages: their way, and what they wait for on links.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sequence.h"

static weir__cluster_settings with_ends(void) {
  weir__cluster_settings settings = free_calls;
  settings.send_us = 1;
  settings.receive_us = 3;
  return settings;
}

// Buffers 0 to ranks - 1 and ranks to 2 * ranks - 1 are owned by one rank each.
static weir__cluster_program with_blocks(uint32_t ranks) {
  weir__cluster_program program;
  assert_true(weir__cluster_program_create(&program, ranks));
  for (uint32_t i = 0; i < 2 * ranks; i++) weir__cluster_program_buffer(&program, BLOCK, i % ranks);
  return program;
}

// A task, its copy out, the latency, the bytes, the copy in, and the task behind it.
static void test_one_message(void **state) {
  (void)state;
  weir__cluster_program program = with_blocks(2);
  weir__cluster_settings settings = with_ends();
  WRITE_AFTER(&program, 10, 0, -1);
  WRITE_AFTER(&program, 5, 3, 0);
  weir__cluster_result result = finish(&program, &settings, 8);
  check_us(result.makespan_us, 10 + 1 + 2 + 1 + 3 + 5);
  check_us(result.bounds_us[WEIR__CLUSTER_BY_CHAIN], 22);
  check_us(result.bounds_us[WEIR__CLUSTER_BY_LINKS], 1);
  check_us(result.bounds_us[WEIR__CLUSTER_BY_WORKERS], 11);
  assert_int_equal(result.limit, WEIR__CLUSTER_BY_CHAIN);
  assert_int_equal(result.messages, 1);
  assert_int_equal(result.bytes, BLOCK);
}

static void test_copies_and_local(void **state) {
  (void)state;
  weir__cluster_program program = with_blocks(2);
  weir__cluster_settings settings = with_ends();
  settings.ranks_per_node = 2;
  settings.copy_gbs = 0.5; // 936 bytes in 1.872 us
  settings.local_gbs = 2;
  WRITE_AFTER(&program, 10, 0, -1);
  WRITE_AFTER(&program, 5, 3, 0);
  weir__cluster_result result = finish(&program, &settings, 8);
  assert_float_equal((float)result.makespan_us, (float)(10 + 1 + 1.872 + 1 + 0.5 + 3 + 1.872 + 5), 1e-4);
  assert_int_equal(result.local_messages, 1);
  check_us(result.bounds_us[WEIR__CLUSTER_BY_LINKS], 0);
}

// Both copies end at 11. The second message leaves when the first one has: a microsecond later.
static void test_two_out_of_one(void **state) {
  (void)state;
  weir__cluster_program program = with_blocks(3);
  weir__cluster_settings settings = with_ends();
  settings.workers = 2;
  WRITE_AFTER(&program, 10, 0, -1);
  WRITE_AFTER(&program, 5, 4, 0);
  WRITE_AFTER(&program, 5, 5, 0);
  weir__cluster_result result = finish(&program, &settings, 8);
  check_us(result.makespan_us, 10 + 1 + 1 + 2 + 1 + 3 + 5);
  check_us(result.bounds_us[WEIR__CLUSTER_BY_LINKS], 2);
}

// Both messages reach the link of rank 2 at 13. They have come at 14 and 15, and are taken at 17 and 18, or by one worker at 17
// and 20.
static void test_two_into_one(void **state) {
  (void)state;
  for (int workers = 1; workers <= 2; workers++) {
    weir__cluster_program program = with_blocks(3);
    weir__cluster_settings settings = with_ends();
    settings.workers = workers;
    WRITE_AFTER(&program, 10, 0, -1);
    WRITE_AFTER(&program, 10, 1, -1);
    WRITE_AFTER(&program, 5, 2, 0, 1);
    check_us(finish(&program, &settings, 8).makespan_us, workers == 1 ? 25 : 23);
  }
}

// Without a limit of the switch, two pairs are not in each other's way.
static void test_switch(void **state) {
  (void)state;
  for (int gbs = 0; gbs <= 1; gbs++) {
    weir__cluster_program program = with_blocks(4);
    weir__cluster_settings settings = with_ends();
    settings.switch_gbs = gbs;
    WRITE_AFTER(&program, 10, 0, -1);
    WRITE_AFTER(&program, 10, 2, -1);
    WRITE_AFTER(&program, 5, 5, 0);
    WRITE_AFTER(&program, 5, 7, 2);
    weir__cluster_result result = finish(&program, &settings, 8);
    check_us(result.makespan_us, 22 + gbs);
    check_us(result.bounds_us[WEIR__CLUSTER_BY_LINKS], 1 + gbs);
  }
}

// A message passes a switch that is slower than its link in the time of the switch.
static void test_slow_switch(void **state) {
  (void)state;
  weir__cluster_program program = with_blocks(2);
  weir__cluster_settings settings = with_ends();
  settings.switch_gbs = 0.5;
  WRITE_AFTER(&program, 10, 0, -1);
  WRITE_AFTER(&program, 5, 3, 0);
  weir__cluster_result result = finish(&program, &settings, 8);
  check_us(result.makespan_us, 10 + 1 + 2 + 2 + 3 + 5);
  check_us(result.bounds_us[WEIR__CLUSTER_BY_LINKS], 2);
}

// A message goes before tasks that were ready before it, but not before one that runs.
static void test_messages_first(void **state) {
  (void)state;
  weir__cluster_program program = with_blocks(2);
  weir__cluster_settings settings = with_ends();
  WRITE_AFTER(&program, 10, 0, -1);
  WRITE_AFTER(&program, 20, 2, -1);
  WRITE_AFTER(&program, 5, 3, 0);
  weir__cluster_result result = finish(&program, &settings, 8);
  check_us(result.makespan_us, 10 + 1 + 20);
}

// A version travels once to each rank, and part by part if parts have other writers.
static void test_what_travels(void **state) {
  (void)state;
  weir__cluster_program program = with_blocks(2);
  for (int i = 0; i < 2; i++) WRITE_AFTER(&program, 1, 0, -1);
  for (int i = 0; i < 3; i++) WRITE_AFTER(&program, 1, 3, 0);
  weir__cluster_result result = finish(&program, &free_calls, 8);
  assert_int_equal(result.messages, 1);
  assert_int_equal(result.bytes, BLOCK);

  program = with_blocks(2);
  WRITE_AFTER(&program, 1, 0, -1);
  const weir__plan_access part = {.mode = WEIR_READ_WRITE, .buffer = 0, .offset = 100, .bytes = 200};
  const weir__plan_access both[] = {{.mode = WEIR_WRITE, .buffer = 1, .bytes = BLOCK}, part};
  weir__cluster_program_task(&program, both, 2, 1000, false); // rank 1's: it lacks 200 bytes
  WRITE_AFTER(&program, 1, 3, 0);                             // 100 before these and 636 behind them
  WRITE_AFTER(&program, 1, 2, 0);                             // rank 0 lacks the 200
  result = finish(&program, &free_calls, 8);
  assert_int_equal(result.messages, 4);
  assert_int_equal(result.bytes, 200 + 736 + 200);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_message),    cmocka_unit_test(test_copies_and_local),
      cmocka_unit_test(test_two_out_of_one), cmocka_unit_test(test_two_into_one),
      cmocka_unit_test(test_switch),         cmocka_unit_test(test_slow_switch),
      cmocka_unit_test(test_messages_first), cmocka_unit_test(test_what_travels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
