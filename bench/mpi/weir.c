// SPDX-License-Identifier: Apache-2.0
//
// libweir-mpi: all ranks submit all tasks, or (--variant own) leave out those in which they have no part.
#include <stdio.h>
#include <stdlib.h>

#include "ranks.h"
#include "weir/mpi.h"

static weir_context *context;
static weir_mpi *mpi;
static weir_kernel *kernel;
static weir__bench_grid *current_grid;
static weir_buffer **buffers;

static void require(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "%s: %s\n", weir_status_name(status), weir_last_error());
  exit(1);
}

static void grid_task(const weir_work *work) {
  uint64_t number = (uint64_t)(uintptr_t)work->user;
  const weir__bench_cell *inputs[WEIR__BENCH_MAX_INPUTS];
  uint32_t count = work->arg_count - 1;
  for (uint32_t i = 0; i < count; i++) inputs[i] = work->args[i];
  weir__bench_grid_task(current_grid, (int64_t)(number / WEIR__BENCH_WIDTH), (int64_t)(number % WEIR__BENCH_WIDTH),
                        inputs, work->args[count]);
}

static const char *start(void) {
  const weir_context_options options = {.devices = "cpu:1"};
  require(weir_context_create(&options, &context));
  require(weir_mpi_create(context, NULL, &mpi));
  require(weir_kernel_create(context, "grid", &kernel));
  require(weir_kernel_set_cpu(kernel, grid_task));
  return NULL;
}

static void stop(void) {
  require(weir_mpi_release(mpi));
  require(weir_kernel_release(kernel));
  require(weir_context_release(context));
}

static void prepare(const weir__bench_ranks *ranks) {
  current_grid = ranks->grid;
  int64_t count = ranks->grid->steps * WEIR__BENCH_WIDTH;
  buffers = calloc((size_t)count, sizeof(weir_buffer *));
  if (buffers == NULL) exit(1);
  for (int64_t i = 0; i < count; i++) {
    uint32_t owner = (uint32_t)weir__bench_rank_of(ranks, i % WEIR__BENCH_WIDTH);
    require(weir_mpi_buffer_create(mpi, sizeof(weir__bench_cell), owner, &buffers[i]));
  }
}

static void finish(const weir__bench_ranks *ranks) {
  int64_t count = ranks->grid->steps * WEIR__BENCH_WIDTH;
  for (int64_t i = 0; i < count; i++) require(weir_mpi_buffer_release(mpi, buffers[i]));
  free(buffers);
}

static void submit(const weir__bench_ranks *ranks, int64_t step, int64_t point) {
  weir__bench_inputs inputs = weir__bench_grid_inputs(ranks->grid, step, point);
  weir_arg args[WEIR__BENCH_MAX_INPUTS + 1];
  int64_t number = step * WEIR__BENCH_WIDTH + point;
  for (uint8_t i = 0; i < inputs.count; i++)
    args[i] = weir_reads(buffers[number - point - WEIR__BENCH_WIDTH + inputs.points[i]]);
  args[inputs.count] = weir_writes(buffers[number]);
  const weir_task task = {
      .kernel = kernel, .user = (void *)(uintptr_t)number, .args = args, .arg_count = inputs.count + 1u};
  require(weir_mpi_submit(mpi, &task, WEIR_MPI_OWNER, NULL));
}

static void run(const weir__bench_ranks *ranks) {
  const weir__bench_grid *grid = ranks->grid;
  for (int64_t step = 0; step < grid->steps; step++) {
    int64_t end = weir__bench_end_point(grid, step), left_out = 0;
    for (int64_t point = weir__bench_first_point(grid, step); point < end; point++) {
      if (ranks->leaves_out && !weir__bench_concerns(ranks, step, point)) {
        left_out++;
        continue;
      }
      if (left_out > 0) require(weir_mpi_skip(mpi, (uint64_t)left_out));
      left_out = 0;
      submit(ranks, step, point);
    }
    if (left_out > 0) require(weir_mpi_skip(mpi, (uint64_t)left_out));
  }
  require(weir_mpi_finish(mpi));
}

static uint64_t sent(const weir__bench_ranks *ranks) {
  (void)ranks;
  weir_mpi_statistics statistics;
  require(weir_mpi_get_statistics(mpi, &statistics));
  return statistics.bytes_sent;
}

int main(int argc, char **argv) {
  static const weir__bench_ranks_runtime runtime = {.name = "weir-mpi",
                                                    .threads = MPI_THREAD_MULTIPLE,
                                                    .start = start,
                                                    .stop = stop,
                                                    .prepare = prepare,
                                                    .finish = finish,
                                                    .run = run,
                                                    .sent = sent};
  return weir__bench_ranks_main(&runtime, argc, argv);
}
