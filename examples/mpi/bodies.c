// SPDX-License-Identifier: Apache-2.0
//
// The worlds of examples/bodies over the ranks of an MPI job:
//   weir run -n 4 mpi_bodies
// The tasks of a step depend on a state that one rank alone has, so that the others cannot submit them. Each rank runs
// its own block of worlds by plain submissions (simulation.h). What the ranks share are results: a buffer for each
// world, which its owner writes, and sums over ranks. Rank 0 runs all worlds once more and compares every bit.
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/mpi.h>

#include "simulation.h"

enum { WORLDS = 6, BODIES = 12, STEPS = 60 };

// What is left of a world.
typedef struct report {
  uint64_t digests[STEPS]; // of its state after every step
  physics_body bodies[BODIES];
} report;

// What is left of a rank, and of all.
typedef struct totals {
  world_record record;
  int64_t tasks;
} totals;

static void require(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "%s: %s\n", weir_status_name(status), weir_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void combine(const weir_work *work) {
  totals *sum = work->args[0];
  const totals *more = work->args[1];
  if (more->record.overlap > sum->record.overlap) sum->record.overlap = more->record.overlap;
  if (more->record.stretch > sum->record.stretch) sum->record.stretch = more->record.stretch;
  if (more->record.gain > sum->record.gain) sum->record.gain = more->record.gain;
  sum->record.action_work += more->record.action_work;
  sum->tasks += more->tasks;
}

static int32_t first_world_of(uint32_t rank, uint32_t ranks) {
  return (int32_t)(rank * WORLDS / ranks);
}

// Runs worlds, and reports on each.
static totals run_worlds(int32_t first, int32_t count, report *out_reports) {
  const simulation_options options = {
      .devices = "cpu:1", .first_world = first, .worlds = count, .bodies = BODIES, .steps = STEPS, .seed = 1};
  simulation_result result;
  if (count == 0) return (totals){0};
  if (simulation_run(&options, &result) != WEIR_OK) MPI_Abort(MPI_COMM_WORLD, 1); // it has said why
  totals all = {.record = result.record};
  for (int32_t i = 0; i < STEPS; i++) all.tasks += result.tasks[i];
  for (int32_t i = 0; i < count; i++) {
    for (int32_t step = 0; step < STEPS; step++) out_reports[i].digests[step] = result.digests[step * count + i];
    memcpy(out_reports[i].bodies, result.states + (size_t)i * BODIES, sizeof out_reports[i].bodies);
  }
  simulation_result_release(&result);
  return all;
}

// Writes contents to a buffer on its owner; all ranks note that.
static void share(weir_mpi *mpi, weir_buffer *buffer, uint32_t owner, const void *contents, uint64_t bytes) {
  if (weir_mpi_rank(mpi) == owner) require(weir_copy_in(buffer, 0, bytes, contents, NULL));
  require(weir_mpi_written(mpi, buffer, 0, WEIR_WHOLE, (int32_t)owner));
}

// Brings the reports of all worlds to rank 0.
static void gather(weir_mpi *mpi, report *reports) {
  weir_buffer *buffers[WORLDS];
  for (uint32_t rank = 0; rank < weir_mpi_size(mpi); rank++) {
    for (int32_t i = first_world_of(rank, weir_mpi_size(mpi)); i < first_world_of(rank + 1, weir_mpi_size(mpi)); i++) {
      require(weir_mpi_buffer_create(mpi, sizeof(report), rank, &buffers[i]));
      share(mpi, buffers[i], rank, &reports[i], sizeof(report));
      require(weir_mpi_fetch(mpi, buffers[i], 0, WEIR_WHOLE, 0));
    }
  }
  require(weir_mpi_finish(mpi));
  if (weir_mpi_rank(mpi) != 0) return;
  for (int32_t i = 0; i < WORLDS; i++) require(weir_read(buffers[i], 0, sizeof(report), &reports[i]));
}

// Adds the totals of all ranks, for all ranks.
static totals add_totals(weir_mpi *mpi, const totals *own) {
  uint32_t ranks = weir_mpi_size(mpi);
  weir_buffer **parts = calloc(ranks, sizeof(weir_buffer *));
  if (parts == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (uint32_t rank = 0; rank < ranks; rank++) {
    require(weir_mpi_buffer_create(mpi, sizeof(totals), rank, &parts[rank]));
    share(mpi, parts[rank], rank, own, sizeof(totals));
  }
  const weir_task task = {.host = combine, .label = "combine"};
  require(weir_mpi_reduce(mpi, &task, parts, ranks));
  require(weir_mpi_fetch(mpi, parts[0], 0, WEIR_WHOLE, WEIR_MPI_ALL));
  totals all;
  require(weir_read(parts[0], 0, sizeof all, &all));
  free(parts);
  return all;
}

// The number of worlds that one rank alone runs otherwise.
static int count_different(const report *reports, const totals *sums) {
  static report alone[WORLDS];
  totals all = run_worlds(0, WORLDS, alone);
  int different = all.tasks != sums->tasks;
  for (int32_t i = 0; i < WORLDS; i++) different += memcmp(&alone[i], &reports[i], sizeof(report)) != 0;
  return different;
}

int main(int argc, char **argv) {
  static report reports[WORLDS];
  int threads, different = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  weir_context *context;
  weir_mpi *mpi;
  require(weir_context_create(&(weir_context_options){.devices = "cpu:1"}, &context));
  require(weir_mpi_create(context, NULL, &mpi));
  uint32_t rank = weir_mpi_rank(mpi), ranks = weir_mpi_size(mpi);
  int32_t first = first_world_of(rank, ranks), count = first_world_of(rank + 1, ranks) - first;
  totals own = run_worlds(first, count, reports + first), sums = add_totals(mpi, &own);
  gather(mpi, reports);
  weir_mpi_statistics counts;
  require(weir_mpi_get_statistics(mpi, &counts));
  printf("rank %u of %u: %d of %d worlds, %lld of %lld tasks, %llu bytes sent\n", rank, ranks, count, WORLDS,
         (long long)own.tasks, (long long)sums.tasks, (unsigned long long)counts.bytes_sent);
  if (rank == 0) {
    different = count_different(reports, &sums);
    printf("%d worlds differ from those of one rank; greatest overlap of bodies %.1f mm\n", different,
           1e3 * sums.record.overlap);
  }
  require(weir_mpi_release(mpi));
  weir_context_release(context);
  MPI_Finalize();
  return different == 0 ? 0 : 1;
}
