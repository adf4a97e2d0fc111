// SPDX-License-Identifier: Apache-2.0
//
// StarPU: tasks with data handles, scheduler lws (local work stealing), no performance models. Everything that
// StarPU takes from the environment is set here, and what it writes goes to a folder that is removed at the end.
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime.h"
#include "starpu_environment.h"

static uint64_t *independent_cells;
static starpu_data_handle_t cell_handles[WEIR__BENCH_CELLS];
static weir__bench_grid *current_grid;
static starpu_data_handle_t *grid_handles;

static void require(int result, const char *what) {
  if (result == 0) return;
  fprintf(stderr, "StarPU: %s failed (%d)\n", what, result);
  exit(1);
}

static uint64_t number_of(void *argument) {
  return (uint64_t)(uintptr_t)argument;
}

static void independent_task(void *buffers[], void *argument) {
  (void)buffers;
  uint64_t number = number_of(argument);
  independent_cells[number] = weir__bench_mix(number, number, number);
}

static void chain_task(void *buffers[], void *argument) {
  uint64_t *cell = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);
  *cell = weir__bench_mix(*cell, *cell, number_of(argument));
}

static void random_task(void *buffers[], void *argument) {
  const uint64_t *first = (const uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);
  const uint64_t *second = (const uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[1]);
  uint64_t *output = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[2]);
  *output = weir__bench_mix(*first, *second, number_of(argument));
}

static void grid_task(void *buffers[], void *argument) {
  (void)buffers;
  int64_t number = (int64_t)number_of(argument);
  weir__bench_grid_task_in_place(current_grid, number / WEIR__BENCH_WIDTH, number % WEIR__BENCH_WIDTH);
}

static struct starpu_codelet independent_codelet = {.cpu_funcs = {independent_task}, .nbuffers = 0};
static struct starpu_codelet chain_codelet = {.cpu_funcs = {chain_task}, .nbuffers = 1, .modes = {STARPU_RW}};
static struct starpu_codelet random_codelet = {
    .cpu_funcs = {random_task}, .nbuffers = 3, .modes = {STARPU_R, STARPU_R, STARPU_W}};
static struct starpu_codelet grid_codelet = {.cpu_funcs = {grid_task}, .nbuffers = STARPU_VARIABLE_NBUFFERS};

static const char *start(const char *variant) {
  (void)variant;
  const char *reason = weir__bench_starpu_environment_set(WEIR__BENCH_WORKERS);
  if (reason != NULL) return reason;
  return starpu_init(NULL) == 0 ? NULL : "starpu_init found no CPU worker";
}

static void stop(void) {
  starpu_shutdown();
  weir__bench_starpu_environment_clear();
}

static const char *prepare(const weir__bench_tasks *tasks) {
  independent_cells = tasks->cells;
  if (!tasks->accesses) return NULL;
  for (int i = 0; i < WEIR__BENCH_CELLS; i++) {
    starpu_variable_data_register(&cell_handles[i], STARPU_MAIN_RAM, (uintptr_t)&tasks->cells[i], sizeof(uint64_t));
  }
  return NULL;
}

static const char *finish(const weir__bench_tasks *tasks) {
  for (int i = 0; tasks->accesses && i < WEIR__BENCH_CELLS; i++) starpu_data_unregister(cell_handles[i]);
  return NULL;
}

static struct starpu_task *create_task(struct starpu_codelet *codelet, uint64_t number) {
  struct starpu_task *task = starpu_task_create();
  if (!task) require(-1, "starpu_task_create");
  task->cl = codelet;
  task->cl_arg = (void *)(uintptr_t)number;
  return task;
}

static void run_independent(const weir__bench_tasks *tasks) {
  for (uint64_t i = 0; i < tasks->count; i++) {
    require(starpu_task_submit(create_task(&independent_codelet, i)), "starpu_task_submit");
  }
  starpu_task_wait_for_all();
}

static void run_chain(const weir__bench_tasks *tasks) {
  for (uint64_t i = 0; i < tasks->count; i++) {
    struct starpu_task *task = create_task(&chain_codelet, i);
    task->handles[0] = cell_handles[0];
    require(starpu_task_submit(task), "starpu_task_submit");
  }
  starpu_task_wait_for_all();
}

static void run_random(const weir__bench_tasks *tasks) {
  for (uint64_t i = 0; i < tasks->count; i++) {
    struct starpu_task *task = create_task(&random_codelet, i);
    task->handles[0] = cell_handles[tasks->accesses[i].read[0]];
    task->handles[1] = cell_handles[tasks->accesses[i].read[1]];
    task->handles[2] = cell_handles[tasks->accesses[i].write];
    require(starpu_task_submit(task), "starpu_task_submit");
  }
  starpu_task_wait_for_all();
}

static const char *grid_prepare(weir__bench_grid *grid) {
  current_grid = grid;
  size_t count = (size_t)(grid->steps * WEIR__BENCH_WIDTH);
  grid_handles = calloc(count, sizeof(*grid_handles));
  if (!grid_handles) return "no memory";
  for (size_t i = 0; i < count; i++) {
    starpu_variable_data_register(&grid_handles[i], STARPU_MAIN_RAM, (uintptr_t)&grid->cells[i],
                                  sizeof(weir__bench_cell));
  }
  return NULL;
}

static void grid_finish(weir__bench_grid *grid) {
  size_t count = grid_handles ? (size_t)(grid->steps * WEIR__BENCH_WIDTH) : 0;
  for (size_t i = 0; i < count; i++) starpu_data_unregister(grid_handles[i]);
  free(grid_handles);
  grid_handles = NULL;
}

static void submit_grid_task(const weir__bench_grid *grid, int64_t step, int64_t point) {
  weir__bench_inputs inputs = weir__bench_grid_inputs(grid, step, point);
  int64_t number = step * WEIR__BENCH_WIDTH + point;
  struct starpu_task *task = create_task(&grid_codelet, (uint64_t)number);
  for (uint8_t i = 0; i < inputs.count; i++) {
    task->handles[i] = grid_handles[number - point - WEIR__BENCH_WIDTH + inputs.points[i]];
    task->modes[i] = STARPU_R;
  }
  task->handles[inputs.count] = grid_handles[number];
  task->modes[inputs.count] = STARPU_W;
  task->nbuffers = inputs.count + 1;
  require(starpu_task_submit(task), "starpu_task_submit");
}

static void run_grid(weir__bench_grid *grid) {
  for (int64_t step = 0; step < grid->steps; step++) {
    int64_t end = weir__bench_end_point(grid, step);
    for (int64_t point = weir__bench_first_point(grid, step); point < end; point++) {
      submit_grid_task(grid, step, point);
    }
  }
  starpu_task_wait_for_all();
}

int main(int argc, char **argv) {
  static const weir__bench_runtime runtime = {
      .name = "StarPU " WEIR_BENCH_VERSION,
      .start = start,
      .stop = stop,
      .prepare = prepare,
      .finish = finish,
      .independent = run_independent,
      .chain = run_chain,
      .random = run_random,
      .grid_prepare = grid_prepare,
      .grid_finish = grid_finish,
      .grid_run = run_grid,
  };
  return weir__bench_runtime_main(&runtime, argc, argv);
}
