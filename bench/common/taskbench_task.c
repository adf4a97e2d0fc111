// SPDX-License-Identifier: Apache-2.0
#include "taskbench.h"

void weir__bench_grid_task(weir__bench_grid *grid, int64_t step, int64_t point, const weir__bench_cell *const *inputs,
                           weir__bench_cell *output) {
  weir__bench_inputs expected = weir__bench_grid_inputs(grid, step, point);
  int64_t counted_step = grid->pass * grid->steps + step;
  for (uint8_t i = 0; i < expected.count; i++) {
    if (inputs[i]->step != counted_step - 1 || inputs[i]->point != expected.points[i]) {
      __atomic_fetch_add(&grid->errors, 1, __ATOMIC_RELAXED);
    }
  }
  output->step = counted_step;
  output->point = point;
  weir__bench_compute(grid->iterations);
}

void weir__bench_grid_task_in_place(weir__bench_grid *grid, int64_t step, int64_t point) {
  const weir__bench_cell *cells[WEIR__BENCH_MAX_INPUTS];
  weir__bench_inputs inputs = weir__bench_grid_inputs(grid, step, point);
  for (uint8_t i = 0; i < inputs.count; i++) cells[i] = weir__bench_grid_cell(grid, step - 1, inputs.points[i]);
  weir__bench_grid_task(grid, step, point, cells, weir__bench_grid_cell(grid, step, point));
}
