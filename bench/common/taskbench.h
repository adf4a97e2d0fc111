// SPDX-License-Identifier: Apache-2.0
//
// Task graphs of Task Bench (Slaughter et al., SC20): `steps` rows of up to `width` points (16, where tasks are run); task (t, i) reads what
// some points of row t - 1 wrote, runs a compute-bound kernel and writes its own cell. The dependences are those of
// Task Bench: "nearest", "random_nearest" and "spread" with radix 5, the second with a quarter of the neighbours and a
// period of 3 rows; "sweep" is what its program calls dom. As there, every row has cells of its own.
#ifndef WEIR_BENCH_COMMON_TASKBENCH_H
#define WEIR_BENCH_COMMON_TASKBENCH_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WEIR__BENCH_WIDTH = 16, WEIR__BENCH_MAX_INPUTS = 5, WEIR__BENCH_MAX_PERIOD = 4 };

// What a task writes: who it was; the steps of all passes are counted on.
typedef struct weir__bench_cell {
  int64_t step, point;
} weir__bench_cell;

typedef struct weir__bench_inputs {
  uint8_t count;
  int32_t points[WEIR__BENCH_MAX_INPUTS];
} weir__bench_inputs;

typedef struct weir__bench_grid {
  const char *pattern;
  int64_t width, steps, task_count;
  int64_t pass;            // number of this run, so that cells of the last one are not taken for right
  uint64_t iterations;     // of the kernel, per task
  weir__bench_cell *cells; // steps * WEIR__BENCH_WIDTH; NULL: no tasks are run
  int64_t errors;          // inputs that were not what they had to be; added to atomically
  // Ranks of a job agree on the time of a run and on errors, so that all search alike. NULL: there is one process.
  void (*agree)(struct weir__bench_grid *grid, double *seconds);
  int64_t period;
  weir__bench_inputs inputs[WEIR__BENCH_MAX_PERIOD][WEIR__BENCH_WIDTH]; // before points outside the last row are cut;
                                                                        // with `cells`
} weir__bench_grid;

// Names of the patterns, ended by NULL.
extern const char *const weir__bench_patterns[];

// The dependences of a grid of any width from 1 to 2^24 alone: nothing is to be released. False: there is no such pattern.
bool weir__bench_grid_shape(weir__bench_grid *grid, const char *pattern, int64_t width, int64_t steps);

// Prepares a grid; false if there is no such pattern or no memory. Released by weir__bench_grid_release.
bool weir__bench_grid_create(weir__bench_grid *grid, const char *pattern, int64_t steps);
void weir__bench_grid_release(weir__bench_grid *grid);

// First point of a row, and the point after its last.
int64_t weir__bench_first_point(const weir__bench_grid *grid, int64_t step);
int64_t weir__bench_end_point(const weir__bench_grid *grid, int64_t step);

// Points of row step - 1 that task (step, point) reads; none in row 0.
weir__bench_inputs weir__bench_grid_inputs(const weir__bench_grid *grid, int64_t step, int64_t point);

static inline weir__bench_cell *weir__bench_grid_cell(const weir__bench_grid *grid, int64_t step, int64_t point) {
  return &grid->cells[step * WEIR__BENCH_WIDTH + point];
}

// Body of a task: checks its inputs, writes its cell, runs the kernel. `inputs` are the cells of
// weir__bench_grid_inputs, in that order.
void weir__bench_grid_task(weir__bench_grid *grid, int64_t step, int64_t point, const weir__bench_cell *const *inputs,
                           weir__bench_cell *output);

// The same for runtimes whose tasks use grid->cells in place.
void weir__bench_grid_task_in_place(weir__bench_grid *grid, int64_t step, int64_t point);

// The kernel: `iterations` rounds of 16 multiplications and 16 additions.
void weir__bench_compute(uint64_t iterations);

// Peak rate: iterations per second of two threads that run large kernels and nothing else.
double weir__bench_compute_peak(void);

// METG(50 %): grows the kernel until the runtime reaches half of the peak rate. Returns the granularity (time x
// workers / tasks) at that point in microseconds, interpolated; not a number if a run broke an order of tasks, infinite if
// it is more than 2 ms.
typedef void (*weir__bench_grid_run)(weir__bench_grid *grid);
double weir__bench_metg(weir__bench_grid *grid, weir__bench_grid_run run, double peak);

#ifdef __cplusplus
}
#endif
#endif // WEIR_BENCH_COMMON_TASKBENCH_H
