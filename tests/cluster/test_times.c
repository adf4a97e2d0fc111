// SPDX-License-Identifier: Apache-2.0
//
// Tasks of one rank: chains, the window, shared cores, versions of buffers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sequence.h"

// Independent tasks, one a buffer, whose owners are as the list says.
static weir__cluster_program independent(uint32_t ranks, const double *us, const uint32_t *owners, uint32_t count) {
  weir__cluster_program program;
  assert_true(weir__cluster_program_create(&program, ranks));
  for (uint32_t i = 0; i < count; i++)
    WRITE_AFTER(&program, us[i], weir__cluster_program_buffer(&program, 8, owners[i]), -1);
  return program;
}

static void test_chain(void **state) {
  (void)state;
  weir__cluster_program program;
  weir__cluster_settings settings = free_calls;
  settings.cores = 2; // the calls have a core of their own
  settings.submit_us = 2;
  settings.task_us = 1;
  assert_true(weir__cluster_program_create(&program, 1));
  for (int i = 0; i < 3; i++) weir__cluster_program_buffer(&program, 8, 0);
  WRITE_AFTER(&program, 10, 0, -1);
  WRITE_AFTER(&program, 10, 1, 0);
  WRITE_AFTER(&program, 10, 2, 1);
  weir__cluster_result result = finish(&program, &settings, 8);
  check_us(result.makespan_us, 2 + 3 * 11);
  check_us(result.work_us, 30);
  check_us(result.bounds_us[WEIR__CLUSTER_BY_CHAIN], 33);
  check_us(result.bounds_us[WEIR__CLUSTER_BY_SUBMISSION], 6);
  check_us(result.bounds_us[WEIR__CLUSTER_BY_CORES], 39.0 / 2);
  assert_int_equal(result.edges, 2);
}

static void test_workers(void **state) {
  (void)state;
  weir__cluster_settings settings = free_calls;
  weir__cluster_program program = independent(1, (double[]){4, 10, 5, 1}, (uint32_t[]){0, 0, 0, 0}, 4);
  settings.workers = 2;
  weir__cluster_result result = finish(&program, &settings, 8);
  check_us(result.makespan_us, 10);
  check_us(result.bounds_us[WEIR__CLUSTER_BY_WORKERS], 10);
}

// The second task enters when the first one has ended, though a worker is free.
static void test_window(void **state) {
  (void)state;
  weir__cluster_settings settings = free_calls;
  settings.workers = 2;
  for (uint32_t window = 1; window <= 2; window++) {
    weir__cluster_program program = independent(1, (double[]){10, 10}, (uint32_t[]){0, 0}, 2);
    weir__cluster_result result = finish(&program, &settings, window);
    check_us(result.makespan_us, window == 1 ? 20 : 10);
    assert_int_equal(result.window_waits, window == 1);
  }
}

// Two ranks on one core: both tasks have half of it for 8 us, then the longer one all of it for 6 us.
static void test_shared_core(void **state) {
  (void)state;
  weir__cluster_settings settings = free_calls;
  settings.ranks_per_node = settings.oversubscribe = 2;
  settings.cores = 1;
  weir__cluster_program program = independent(2, (double[]){10, 4}, (uint32_t[]){0, 1}, 2);
  check_us(finish(&program, &settings, 8).makespan_us, 14);
  // A third one behind the short one starts at 8, with half of a core, and ends at 8 + 2 * 2.
  program = independent(2, (double[]){10, 4, 2}, (uint32_t[]){0, 1, 1}, 3);
  weir__cluster_result result = finish(&program, &settings, 8);
  check_us(result.makespan_us, 16);
  check_us(result.bounds_us[WEIR__CLUSTER_BY_CORES], 16);
  assert_int_equal(result.limit, WEIR__CLUSTER_BY_CORES);
}

// The calls and the first task have half a core each: 2 us of calls end at 2 + 2, where the task began at 2.
static void test_calls_on_the_worker_s_core(void **state) {
  (void)state;
  weir__cluster_settings settings = free_calls;
  settings.submit_us = 2;
  weir__cluster_program program = independent(1, (double[]){10, 10}, (uint32_t[]){0, 0}, 2);
  check_us(finish(&program, &settings, 8).makespan_us, 24);
}

// A task that overwrites a buffer whole does not wait for its readers; one that overwrites a part does.
static void test_versions(void **state) {
  (void)state;
  for (uint64_t bytes = 4; bytes <= 8; bytes += 4) {
    weir__cluster_program program;
    weir__cluster_settings settings = free_calls;
    settings.workers = 2;
    assert_true(weir__cluster_program_create(&program, 1));
    for (int i = 0; i < 2; i++) weir__cluster_program_buffer(&program, 8, 0);
    WRITE_AFTER(&program, 10, 1, 0);
    const weir__plan_access access = {.mode = WEIR_WRITE, .buffer = 0, .bytes = bytes};
    weir__cluster_program_task(&program, &access, 1, 10000, false);
    check_us(finish(&program, &settings, 8).makespan_us, bytes == 8 ? 10 : 20);
  }
}

static void test_host_wait(void **state) {
  (void)state;
  weir__cluster_settings settings = free_calls;
  settings.workers = 2;
  weir__cluster_program program;
  assert_true(weir__cluster_program_create(&program, 1));
  for (int i = 0; i < 2; i++) weir__cluster_program_buffer(&program, 8, 0);
  const weir__plan_access access = {.mode = WEIR_COMMUTE, .buffer = 0, .bytes = 8};
  weir__cluster_program_task(&program, &access, 1, 10000, true);
  WRITE_AFTER(&program, 10, 1, -1);
  check_us(finish(&program, &settings, 8).makespan_us, 20);
}

// Each task has a time of its own, the same in each run; together they have about what they have without. A worker that
// is never idle is busy for just its work.
static void test_jitter(void **state) {
  (void)state;
  enum { COUNT = 2000 };
  static double us[COUNT];
  static uint32_t owners[COUNT];
  weir__cluster_settings settings = free_calls;
  settings.jitter = 0.5;
  for (int i = 0; i < COUNT; i++) us[i] = 10;
  double times[3];
  for (int i = 0; i < 3; i++) {
    weir__cluster_program program = independent(1, us, owners, i < 2 ? 1 : COUNT);
    weir__cluster_result result = finish(&program, &settings, COUNT);
    times[i] = result.makespan_us;
    assert_float_equal((float)(result.work_us / times[i]), 1, 1e-6);
  }
  check_us(times[1], times[0]);
  assert_true(times[0] != 10 && times[0] >= 5 && times[0] <= 15);
  assert_in_range((uint64_t)times[2], 10 * COUNT - 5 * 100, 10 * COUNT + 5 * 100); // 3.9 standard deviations
}

static void test_nothing(void **state) {
  (void)state;
  weir__cluster_program program;
  assert_true(weir__cluster_program_create(&program, 3));
  weir__cluster_program_task(&program, NULL, 0, 5000, false); // rank 0's
  check_us(finish(&program, &free_calls, 1).makespan_us, 5);
  assert_true(weir__cluster_program_create(&program, 3));
  check_us(finish(&program, &free_calls, 1).makespan_us, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chain),
      cmocka_unit_test(test_workers),
      cmocka_unit_test(test_window),
      cmocka_unit_test(test_shared_core),
      cmocka_unit_test(test_calls_on_the_worker_s_core),
      cmocka_unit_test(test_versions),
      cmocka_unit_test(test_host_wait),
      cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_jitter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
