// SPDX-License-Identifier: Apache-2.0
//
// The main function that all measured runtimes share: right results pass, and each way of breaking them is found.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime.h"

enum { DONE = 0, FAILED = 1, USAGE = 2, UNAVAILABLE = 3, MAX_WORDS = 8 };

static const weir__bench_tasks *recorded;

static const char *start(const char *variant) {
  return strcmp(variant, "absent") == 0 ? "there is no such runtime here" : NULL;
}

static void stop(void) {}

static void run_one(const weir__bench_tasks *tasks, uint64_t i) {
  const weir__bench_access *access = &tasks->accesses[i];
  tasks->cells[access->write] = weir__bench_mix(tasks->cells[access->read[0]], tasks->cells[access->read[1]], i);
}

static void run_independent(const weir__bench_tasks *tasks) {
  for (uint64_t i = 0; i < tasks->count; i++) tasks->cells[i] = weir__bench_mix(i, i, i);
}

static void run_chain(const weir__bench_tasks *tasks) {
  for (uint64_t i = 0; i < tasks->count; i++) {
    tasks->cells[0] = weir__bench_mix(tasks->cells[0], tasks->cells[0], i);
  }
}

static void run_random(const weir__bench_tasks *tasks) {
  for (uint64_t i = 0; i < tasks->count; i++) run_one(tasks, i);
}

static void record(const weir__bench_tasks *tasks) {
  recorded = tasks;
}

static void replay(const weir__bench_tasks *tasks) {
  assert_ptr_equal(tasks, recorded);
  run_random(tasks);
}

static void run_grid_rows(weir__bench_grid *grid, bool backwards) {
  for (int64_t row = 0; row < grid->steps; row++) {
    int64_t step = backwards ? grid->steps - 1 - row : row, end = weir__bench_end_point(grid, step);
    for (int64_t point = weir__bench_first_point(grid, step); point < end; point++) {
      weir__bench_grid_task_in_place(grid, step, point);
    }
  }
}

static void run_grid(weir__bench_grid *grid) {
  run_grid_rows(grid, false);
}

static const weir__bench_runtime serial = {
    .name = "serial",
    .start = start,
    .stop = stop,
    .independent = run_independent,
    .chain = run_chain,
    .random = run_random,
    .record = record,
    .replay = replay,
    .grid_run = run_grid,
};

// Calls the main function with the words of a command line.
static int run(const weir__bench_runtime *runtime, const char *line) {
  char copy[128], *words[MAX_WORDS] = {0}, program[] = "weir-bench-serial";
  int count = 0;
  strncpy(copy, line, sizeof(copy) - 1);
  copy[sizeof(copy) - 1] = '\0';
  words[count++] = program;
  for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
    assert_true(count < MAX_WORDS);
    words[count++] = word;
  }
  return weir__bench_runtime_main(runtime, count, words);
}

static void serial_execution_passes(void **state) {
  (void)state;
  assert_int_equal(run(&serial, "overhead independent --tasks 100"), DONE);
  assert_int_equal(run(&serial, "overhead chain --tasks 100"), DONE);
  assert_int_equal(run(&serial, "overhead random --tasks 1000"), DONE);
  assert_int_equal(run(&serial, "overhead replay --tasks 1000"), DONE);
}

static void skip_one(const weir__bench_tasks *tasks) {
  for (uint64_t i = 0; i < tasks->count; i++) {
    if (i != tasks->count - 1) run_one(tasks, i);
  }
}

// Swaps the first two neighbours of which the second depends on the first by `hazard`, but not otherwise.
static bool depends(const weir__bench_access *first, const weir__bench_access *second, int hazard) {
  bool raw = second->read[0] == first->write || second->read[1] == first->write;
  bool war = first->read[0] == second->write || first->read[1] == second->write;
  bool waw = first->write == second->write;
  return raw == (hazard == 0) && war == (hazard == 1) && waw == (hazard == 2);
}

static void swap_two(const weir__bench_tasks *tasks, int hazard) {
  uint64_t last = tasks->count; // the last such pair, so that what it wrote is not overwritten soon
  for (uint64_t i = 0; i + 1 < tasks->count; i++) {
    if (depends(&tasks->accesses[i], &tasks->accesses[i + 1], hazard)) last = i;
  }
  for (uint64_t i = 0; i < tasks->count; i++) {
    run_one(tasks, i == last ? i + 1 : last < tasks->count && i == last + 1 ? i - 1 : i);
  }
}

static void break_raw(const weir__bench_tasks *tasks) {
  swap_two(tasks, 0);
}

static void break_war(const weir__bench_tasks *tasks) {
  swap_two(tasks, 1);
}

static void break_waw(const weir__bench_tasks *tasks) {
  swap_two(tasks, 2);
}

static void break_grid(weir__bench_grid *grid) {
  run_grid_rows(grid, true);
}

static void wrong_results_are_found(void **state) {
  (void)state;
  void (*const broken[])(const weir__bench_tasks *) = {skip_one, break_raw, break_war, break_waw};
  for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
    weir__bench_runtime runtime = serial;
    runtime.random = broken[i];
    assert_int_equal(run(&runtime, "overhead random --tasks 2000"), FAILED);
  }
}

static int64_t grid_errors(weir__bench_grid_run run_rows) {
  weir__bench_grid grid;
  assert_true(weir__bench_grid_create(&grid, "stencil_1d", 20));
  run_rows(&grid);
  grid.pass++;
  run_rows(&grid);
  int64_t errors = grid.errors;
  weir__bench_grid_release(&grid);
  return errors;
}

static void order_of_grids_is_checked(void **state) {
  (void)state;
  assert_int_equal(grid_errors(run_grid), 0);
  assert_true(grid_errors(break_grid) > 0);
  weir__bench_runtime runtime = serial;
  runtime.grid_run = break_grid;
  assert_int_equal(run(&runtime, "metg stencil_1d --steps 20"), FAILED);
}

static void what_is_missing_is_said(void **state) {
  (void)state;
  weir__bench_runtime runtime = serial;
  runtime.replay = NULL;
  assert_int_equal(run(&runtime, "overhead replay"), UNAVAILABLE);
  assert_int_equal(run(&serial, "overhead random --variant absent"), UNAVAILABLE);
}

static void bad_usage_is_refused(void **state) {
  (void)state;
  assert_int_equal(run(&serial, "overhead spiral"), USAGE);
  assert_int_equal(run(&serial, "metg spiral"), USAGE);
  assert_int_equal(run(&serial, "overhead random --tasks 0"), USAGE);
  assert_int_equal(run(&serial, "overhead"), USAGE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(serial_execution_passes),   cmocka_unit_test(wrong_results_are_found),
      cmocka_unit_test(order_of_grids_is_checked), cmocka_unit_test(what_is_missing_is_said),
      cmocka_unit_test(bad_usage_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
