// SPDX-License-Identifier: Apache-2.0
//
// StarPU-MPI: starpu_mpi_task_insert with its cache, scheduler lws, no performance models. All ranks insert all
// tasks, or (--variant own) leave out those in which they have no part. What StarPU takes from the environment is set
// here.
#include <starpu_mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "ranks.h"
#include "starpu_environment.h"

static weir__bench_grid *current_grid;
static starpu_data_handle_t *handles;

static void require(int result, const char *what) {
  if (result == 0) return;
  fprintf(stderr, "StarPU: %s failed (%d)\n", what, result);
  exit(1);
}

static void grid_task(void *all[], void *argument) {
  int64_t number = (int64_t)(uintptr_t)argument, step = number / WEIR__BENCH_WIDTH, point = number % WEIR__BENCH_WIDTH;
  uint8_t count = weir__bench_grid_inputs(current_grid, step, point).count;
  const weir__bench_cell *inputs[WEIR__BENCH_MAX_INPUTS];
  for (uint8_t i = 0; i < count; i++) inputs[i] = (const weir__bench_cell *)STARPU_VARIABLE_GET_PTR(all[i]);
  weir__bench_grid_task(current_grid, step, point, inputs, (weir__bench_cell *)STARPU_VARIABLE_GET_PTR(all[count]));
}

static struct starpu_codelet codelet = {.cpu_funcs = {grid_task}, .nbuffers = STARPU_VARIABLE_NBUFFERS};

static const char *start(void) {
  const char *reason = weir__bench_starpu_environment_set(1);
  if (reason != NULL) return reason;
  setenv("STARPU_WORKERS_GETBIND", "1", 1);
  setenv("STARPU_COMM_STATS", "1", 1);
  return starpu_mpi_init_conf(NULL, NULL, 0, MPI_COMM_WORLD, NULL) == 0 ? NULL : "starpu_mpi_init_conf failed";
}

static void stop(void) {
  starpu_mpi_shutdown();
  weir__bench_starpu_environment_clear();
}

static void prepare(const weir__bench_ranks *ranks) {
  current_grid = ranks->grid;
  int64_t count = ranks->grid->steps * WEIR__BENCH_WIDTH;
  handles = calloc((size_t)count, sizeof(*handles));
  if (handles == NULL) exit(1);
  for (int64_t i = 0; i < count; i++) {
    int owner = weir__bench_rank_of(ranks, i % WEIR__BENCH_WIDTH);
    bool here = owner == ranks->rank;
    starpu_variable_data_register(&handles[i], here ? STARPU_MAIN_RAM : -1,
                                  here ? (uintptr_t)&ranks->grid->cells[i] : 0, sizeof(weir__bench_cell));
    starpu_mpi_data_register(handles[i], i, owner);
  }
}

static void finish(const weir__bench_ranks *ranks) {
  int64_t count = ranks->grid->steps * WEIR__BENCH_WIDTH;
  for (int64_t i = 0; i < count; i++) starpu_data_unregister(handles[i]);
  free(handles);
}

static void submit(const weir__bench_ranks *ranks, int64_t step, int64_t point) {
  weir__bench_inputs inputs = weir__bench_grid_inputs(ranks->grid, step, point);
  int64_t number = step * WEIR__BENCH_WIDTH + point;
  struct starpu_data_descr args[WEIR__BENCH_MAX_INPUTS + 1];
  for (uint8_t i = 0; i < inputs.count; i++)
    args[i] = (struct starpu_data_descr){handles[number - point - WEIR__BENCH_WIDTH + inputs.points[i]], STARPU_R};
  args[inputs.count] = (struct starpu_data_descr){handles[number], STARPU_W};
  require(starpu_mpi_task_insert(MPI_COMM_WORLD, &codelet, STARPU_DATA_MODE_ARRAY, args, inputs.count + 1,
                                 STARPU_CL_ARGS_NFREE, (void *)(uintptr_t)number, (size_t)0, 0),
          "starpu_mpi_task_insert");
}

static void run(const weir__bench_ranks *ranks) {
  const weir__bench_grid *grid = ranks->grid;
  for (int64_t step = 0; step < grid->steps; step++) {
    int64_t end = weir__bench_end_point(grid, step);
    for (int64_t point = weir__bench_first_point(grid, step); point < end; point++) {
      if (!ranks->leaves_out || weir__bench_concerns(ranks, step, point)) submit(ranks, step, point);
    }
  }
  require(starpu_mpi_wait_for_all(MPI_COMM_WORLD), "starpu_mpi_wait_for_all");
}

static uint64_t sent(const weir__bench_ranks *ranks) {
  size_t amounts[WEIR__BENCH_MAX_RANKS] = {0};
  starpu_mpi_comm_amounts_retrieve(amounts);
  uint64_t all = 0;
  for (int i = 0; i < ranks->size; i++) all += amounts[i];
  return all;
}

int main(int argc, char **argv) {
  static const weir__bench_ranks_runtime runtime = {.name = "StarPU-MPI " WEIR_BENCH_VERSION,
                                                    .threads = MPI_THREAD_MULTIPLE,
                                                    .start = start,
                                                    .stop = stop,
                                                    .prepare = prepare,
                                                    .finish = finish,
                                                    .run = run,
                                                    .sent = sent};
  return weir__bench_ranks_main(&runtime, argc, argv);
}
