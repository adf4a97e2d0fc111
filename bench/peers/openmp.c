// SPDX-License-Identifier: Apache-2.0
//
// OpenMP tasks with depend clauses; built twice, by clang for libomp and by gcc for libgomp.
#include <omp.h>
#include <stddef.h>
#include <string.h>

#include "runtime.h"

#ifdef __clang__
#define RUNTIME_NAME "libomp " WEIR_BENCH_VERSION
#else
#define RUNTIME_NAME "libgomp " WEIR_BENCH_VERSION
#endif

static const char *start(const char *variant) {
  (void)variant;
  omp_set_dynamic(0);
  omp_set_num_threads(WEIR__BENCH_WORKERS);
  return NULL;
}

static void stop(void) {}

static void run_independent(const weir__bench_tasks *tasks) {
  uint64_t *cells = tasks->cells;
#pragma omp parallel
#pragma omp single
  for (uint64_t i = 0; i < tasks->count; i++) {
#pragma omp task firstprivate(i) shared(cells)
    cells[i] = weir__bench_mix(i, i, i);
  }
}

static void run_chain(const weir__bench_tasks *tasks) {
  uint64_t *cell = tasks->cells;
#pragma omp parallel
#pragma omp single
  for (uint64_t i = 0; i < tasks->count; i++) {
#pragma omp task firstprivate(i, cell) depend(inout : cell[0])
    cell[0] = weir__bench_mix(cell[0], cell[0], i);
  }
}

static void run_random(const weir__bench_tasks *tasks) {
#pragma omp parallel
#pragma omp single
  for (uint64_t i = 0; i < tasks->count; i++) {
    const weir__bench_access *access = &tasks->accesses[i];
    const uint64_t *first = &tasks->cells[access->read[0]], *second = &tasks->cells[access->read[1]];
    uint64_t *output = &tasks->cells[access->write];
#pragma omp task firstprivate(i, first, second, output) depend(in : first[0], second[0]) depend(out : output[0])
    output[0] = weir__bench_mix(first[0], second[0], i);
  }
}

// One clause list per number of inputs: cheaper than an iterator, in both libraries.
static void submit_grid_task(weir__bench_grid *grid, int64_t step, int64_t point) {
  weir__bench_inputs inputs = weir__bench_grid_inputs(grid, step, point);
  weir__bench_cell *out = weir__bench_grid_cell(grid, step, point), *in[WEIR__BENCH_MAX_INPUTS] = {0};
  for (uint8_t i = 0; i < inputs.count; i++) in[i] = weir__bench_grid_cell(grid, step - 1, inputs.points[i]);
  (void)out; // gcc does not count depend as a use
  switch (inputs.count) {
  case 0:
#pragma omp task firstprivate(grid, step, point) depend(out : out[0])
    weir__bench_grid_task_in_place(grid, step, point);
    break;
  case 1:
#pragma omp task firstprivate(grid, step, point) depend(in : in[0][0]) depend(out : out[0])
    weir__bench_grid_task_in_place(grid, step, point);
    break;
  case 2:
#pragma omp task firstprivate(grid, step, point) depend(in : in[0][0], in[1][0]) depend(out : out[0])
    weir__bench_grid_task_in_place(grid, step, point);
    break;
  case 3:
#pragma omp task firstprivate(grid, step, point) depend(in : in[0][0], in[1][0], in[2][0]) depend(out : out[0])
    weir__bench_grid_task_in_place(grid, step, point);
    break;
  case 4:
#pragma omp task firstprivate(grid, step, point) depend(in                                                             \
                                                        : in[0][0], in[1][0], in[2][0], in[3][0]) depend(out           \
                                                                                                         : out[0])
    weir__bench_grid_task_in_place(grid, step, point);
    break;
  default:
#pragma omp task firstprivate(grid, step, point) depend(in                                                             \
                                                        : in[0][0], in[1][0], in[2][0], in[3][0], in[4][0])            \
    depend(out                                                                                                         \
           : out[0])
    weir__bench_grid_task_in_place(grid, step, point);
    break;
  }
}

static void run_grid(weir__bench_grid *grid) {
#pragma omp parallel
#pragma omp single
  for (int64_t step = 0; step < grid->steps; step++) {
    int64_t end = weir__bench_end_point(grid, step);
    for (int64_t point = weir__bench_first_point(grid, step); point < end; point++) {
      submit_grid_task(grid, step, point);
    }
  }
}

static void submit_and_wait(void *user, uint64_t us) {
  (void)user;
#pragma omp task firstprivate(us)
  weir__bench_spin(us);
#pragma omp taskwait
}

static int measure_waits(int argc, char **argv) {
  start("");
#pragma omp parallel
#pragma omp single
  weir__bench_round_trips(RUNTIME_NAME, submit_and_wait, NULL, argc, argv);
  return 0;
}

int main(int argc, char **argv) {
  static const weir__bench_runtime runtime = {
      .name = RUNTIME_NAME,
      .start = start,
      .stop = stop,
      .independent = run_independent,
      .chain = run_chain,
      .random = run_random,
      .grid_run = run_grid,
  };
  if (argc >= 3 && strcmp(argv[1], "wait") == 0) return measure_waits(argc, argv);
  return weir__bench_runtime_main(&runtime, argc, argv);
}
