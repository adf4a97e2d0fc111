// SPDX-License-Identifier: Apache-2.0
//
// What calls cost a rank: tasks of its own and of others, buffers, and what it leaves out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sequence.h"

// Two ranks with a core to spare. Rank 1 runs four tasks of 1 us, then rank 0 one that reads the last of them, then rank 1 one.
static weir__cluster_result run(weir__cluster_settings settings) {
  weir__cluster_program program;
  settings.cores = 2;
  assert_true(weir__cluster_program_create(&program, 2));
  for (uint32_t i = 0; i < 5; i++) weir__cluster_program_buffer(&program, BLOCK, 1);
  uint32_t own = weir__cluster_program_buffer(&program, BLOCK, 0);
  for (uint32_t i = 0; i < 4; i++) WRITE_AFTER(&program, 1, i, -1);
  WRITE_AFTER(&program, 1, own, 3);
  WRITE_AFTER(&program, 1, 4, -1);
  return finish(&program, &settings, 8);
}

static void test_all_calls(void **state) {
  (void)state;
  weir__cluster_settings settings = free_calls;
  check_us(run(settings).bounds_us[WEIR__CLUSTER_BY_SUBMISSION], 0);
  // Rank 1: five tasks and a send; rank 0: a receive and a task.
  settings.submit_us = 1;
  check_us(run(settings).bounds_us[WEIR__CLUSTER_BY_SUBMISSION], 6);
  // Rank 0 passes five tasks, rank 1 one.
  settings.pass_us = 10;
  check_us(run(settings).bounds_us[WEIR__CLUSTER_BY_SUBMISSION], 2 + 50);
  // Both create six buffers.
  settings.buffer_us = 100;
  check_us(run(settings).bounds_us[WEIR__CLUSTER_BY_SUBMISSION], 2 + 50 + 600);
}

static void test_times(void **state) {
  (void)state;
  weir__cluster_settings settings = free_calls;
  // Rank 1's fourth task ends at 4; the message, 3 us later; rank 0 has passed four tasks at 40, and runs its own; it passes
  // another one to 50.
  settings.pass_us = 10;
  check_us(run(settings).makespan_us, 50);
  settings.pass_us = 1;
  check_us(run(settings).makespan_us, 4 + 3 + 1);
}

static void test_left_out(void **state) {
  (void)state;
  weir__cluster_settings settings = free_calls;
  settings.skip = 1;
  settings.pass_us = 10;
  // Rank 0 takes part in the fourth task, whose output it reads; rank 1 in the fifth.
  check_us(run(settings).bounds_us[WEIR__CLUSTER_BY_SUBMISSION], 10);
  settings.submit_us = 1;
  check_us(run(settings).bounds_us[WEIR__CLUSTER_BY_SUBMISSION], 6 + 10);
  // Rank 1 knows its five buffers, and rank 0 its own and the one that it reads.
  settings.buffer_us = 100;
  check_us(run(settings).bounds_us[WEIR__CLUSTER_BY_SUBMISSION], 6 + 10 + 500);
}

// A row of cells on three ranks, one each: the rank in the middle passes both neighbours' tasks in each step but the
// first, and those at the ends one.
static void test_stencil(void **state) {
  (void)state;
  for (int skip = 0; skip <= 1; skip++) {
    weir__cluster_program program;
    weir__cluster_settings settings = free_calls;
    settings.skip = skip;
    settings.pass_us = 1;
    assert_true(weir__cluster_program_create(&program, 4));
    for (uint32_t i = 0; i < 8; i++) weir__cluster_program_buffer(&program, 8, i % 4);
    for (uint32_t step = 0; step < 3; step++) {
      uint32_t now = 4 * (step % 2), before = 4 - now;
      for (uint32_t i = 0; i < 4; i++) {
        const int reads[] = {step == 0 ? -1 : (int)(before + i),
                             i > 0   ? (int)(before + i - 1)
                             : i < 3 ? (int)(before + i + 1)
                                     : -1,
                             i > 0 && i < 3 ? (int)(before + i + 1) : -1, -1};
        write_after(&program, 1, now + i, reads);
      }
    }
    weir__cluster_result result = finish(&program, &settings, 64);
    assert_int_equal(result.messages, 2 * 6);
    // With calls left out: of step 0 the two whose outputs it reads; of steps 1 and 2 the two that read its own, too.
    check_us(result.bounds_us[WEIR__CLUSTER_BY_SUBMISSION], skip ? 6 : 9);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_calls),
      cmocka_unit_test(test_times),
      cmocka_unit_test(test_left_out),
      cmocka_unit_test(test_stencil),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
