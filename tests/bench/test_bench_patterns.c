// SPDX-License-Identifier: Apache-2.0
//
// The random sequence and the task graphs of the benchmarks are what their headers say.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pattern.h"
#include "taskbench.h"

enum { STEPS = 40, TASKS = 100000 };

static void sequence_names_three_different_cells(void **state) {
  (void)state;
  weir__bench_access *accesses = malloc(TASKS * sizeof(*accesses));
  assert_non_null(accesses);
  weir__bench_sequence(WEIR__BENCH_SEED, accesses, TASKS);
  unsigned written[WEIR__BENCH_CELLS] = {0}, read[WEIR__BENCH_CELLS] = {0};
  for (int i = 0; i < TASKS; i++) {
    uint8_t first = accesses[i].read[0], second = accesses[i].read[1], output = accesses[i].write;
    assert_true(first < WEIR__BENCH_CELLS && second < WEIR__BENCH_CELLS && output < WEIR__BENCH_CELLS);
    assert_true(first != second && first != output && second != output);
    written[output]++;
    read[first]++;
    read[second]++;
  }
  for (int cell = 0; cell < WEIR__BENCH_CELLS; cell++) {
    assert_in_range(written[cell], TASKS / WEIR__BENCH_CELLS / 2, 2 * TASKS / WEIR__BENCH_CELLS);
    assert_in_range(read[cell], TASKS / WEIR__BENCH_CELLS, 4 * TASKS / WEIR__BENCH_CELLS);
  }
  free(accesses);
}

static void mix_depends_on_order(void **state) {
  (void)state;
  assert_true(weir__bench_mix(3, 5, 0) != weir__bench_mix(5, 3, 0));
  assert_true(weir__bench_mix(3, 5, 0) != weir__bench_mix(3, 5, 1));
  uint64_t forth = weir__bench_mix(weir__bench_mix(7, 7, 1), 9, 2),
           back = weir__bench_mix(weir__bench_mix(7, 7, 2), 9, 1);
  assert_true(forth != back);
}

static bool reads(const weir__bench_grid *grid, int64_t step, int64_t point, int64_t other) {
  weir__bench_inputs inputs = weir__bench_grid_inputs(grid, step, point);
  bool found = false;
  for (uint8_t i = 0; i < inputs.count; i++) found = found || inputs.points[i] == other;
  return found;
}

static bool row_has(const weir__bench_grid *grid, int64_t step, int64_t point) {
  return point >= weir__bench_first_point(grid, step) && point < weir__bench_end_point(grid, step);
}

// Task Bench's definitions, written down once more.
static bool expected(const char *pattern, int64_t step, int64_t point, int64_t other) {
  if (strcmp(pattern, "stencil_1d") == 0) return llabs(point - other) <= 1;
  if (strcmp(pattern, "nearest") == 0) return llabs(point - other) <= 2;
  if (strcmp(pattern, "tree") == 0) return other == point / 2;
  if (strcmp(pattern, "sweep") == 0) return other == point || other == point - 1;
  if (strcmp(pattern, "fft") == 0) return other == point || llabs(point - other) == 1 << (step - 1) % 4;
  if (strcmp(pattern, "spread") == 0) { // 5 of 16 points, the nearest one of them this point itself
    static const int distances[] = {3, 6, 9, 12};
    for (int i = 0; i < 4; i++) {
      if (other == (point + distances[i] + (step - 1) % 4) % WEIR__BENCH_WIDTH) return true;
    }
    return other == point;
  }
  return false;
}

static void dependences_are_those_of_task_bench(void **state) {
  (void)state;
  for (const char *const *pattern = weir__bench_patterns; *pattern; pattern++) {
    weir__bench_grid grid;
    assert_true(weir__bench_grid_create(&grid, *pattern, STEPS));
    int64_t tasks = 0, random_inputs = 0;
    for (int64_t step = 0; step < STEPS; step++) {
      for (int64_t point = 0; point < WEIR__BENCH_WIDTH; point++) {
        if (!row_has(&grid, step, point)) continue;
        tasks++;
        for (int64_t other = 0; other < WEIR__BENCH_WIDTH; other++) {
          bool found = reads(&grid, step, point, other);
          if (strcmp(*pattern, "random_nearest") == 0) {
            random_inputs += found;
            assert_true(!found || llabs(point - other) <= 2);
            assert_true(other != point || step == 0 || found);
          } else {
            bool exists = step > 0 && row_has(&grid, step - 1, other);
            assert_int_equal(found, exists && expected(*pattern, step, point, other));
          }
        }
      }
    }
    assert_int_equal(tasks, grid.task_count);
    if (random_inputs) assert_in_range(random_inputs, tasks * 3 / 2, tasks * 5 / 2);
    weir__bench_grid_release(&grid);
  }
}

// Without cells: as with them, and of other widths.
static void shapes_of_any_width(void **state) {
  (void)state;
  weir__bench_grid grid, shape;
  for (const char *const *pattern = weir__bench_patterns; *pattern; pattern++) {
    assert_true(weir__bench_grid_create(&grid, *pattern, STEPS));
    assert_true(weir__bench_grid_shape(&shape, *pattern, WEIR__BENCH_WIDTH, STEPS));
    assert_int_equal(shape.task_count, grid.task_count);
    for (int64_t i = 0; i < STEPS * WEIR__BENCH_WIDTH; i++) {
      weir__bench_inputs a = weir__bench_grid_inputs(&grid, i / WEIR__BENCH_WIDTH, i % WEIR__BENCH_WIDTH),
                         b = weir__bench_grid_inputs(&shape, i / WEIR__BENCH_WIDTH, i % WEIR__BENCH_WIDTH);
      assert_int_equal(a.count, b.count);
      assert_memory_equal(a.points, b.points, a.count * sizeof *a.points);
    }
    weir__bench_grid_release(&grid);
  }
  assert_true(weir__bench_grid_shape(&shape, "fft", 1000, STEPS));
  assert_true(reads(&shape, 10, 0, 512) && reads(&shape, 11, 0, 1) && reads(&shape, 10, 999, 999 - 512));
  assert_true(weir__bench_grid_shape(&shape, "tree", 100, STEPS));
  assert_int_equal(weir__bench_end_point(&shape, 6), 64);
  assert_int_equal(weir__bench_end_point(&shape, 7), 100);
  assert_true(weir__bench_grid_shape(&shape, "stencil_1d", 300, STEPS));
  assert_true(reads(&shape, 1, 299, 298) && reads(&shape, 1, 299, 299));
  assert_int_equal(weir__bench_grid_inputs(&shape, 1, 299).count, 2);
  assert_false(weir__bench_grid_shape(&shape, "spiral", 16, STEPS));
}

static void rows_have_the_right_width(void **state) {
  (void)state;
  weir__bench_grid tree, sweep, stencil;
  assert_true(weir__bench_grid_create(&tree, "tree", STEPS));
  assert_true(weir__bench_grid_create(&sweep, "sweep", STEPS));
  assert_true(weir__bench_grid_create(&stencil, "stencil_1d", STEPS));
  assert_int_equal(stencil.task_count, STEPS * WEIR__BENCH_WIDTH);
  assert_int_equal(tree.task_count, 1 + 2 + 4 + 8 + (STEPS - 4) * WEIR__BENCH_WIDTH);
  assert_int_equal(sweep.task_count, (STEPS - WEIR__BENCH_WIDTH + 1) * WEIR__BENCH_WIDTH);
  assert_int_equal(weir__bench_end_point(&sweep, 0), 1);
  assert_int_equal(weir__bench_first_point(&sweep, STEPS - 1), WEIR__BENCH_WIDTH - 1);
  weir__bench_grid_release(&tree);
  weir__bench_grid_release(&sweep);
  weir__bench_grid_release(&stencil);
}

static void unknown_pattern_is_refused(void **state) {
  (void)state;
  weir__bench_grid grid;
  assert_false(weir__bench_grid_create(&grid, "spiral", STEPS));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sequence_names_three_different_cells),
      cmocka_unit_test(mix_depends_on_order),
      cmocka_unit_test(dependences_are_those_of_task_bench),
      cmocka_unit_test(rows_have_the_right_width),
      cmocka_unit_test(shapes_of_any_width),
      cmocka_unit_test(unknown_pattern_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
