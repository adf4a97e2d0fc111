// SPDX-License-Identifier: Apache-2.0
//
// The worlds of examples/bodies over the ranks of an MPI job:
//   weir run -n 4 mpi_bodies
//   weir run -n 2 mpi_bodies --device cuda --worlds 512 --rounds 3
// The tasks of a step depend on a state that one rank alone has, so that the others cannot submit them. Each rank runs
// its own block of worlds by plain submissions (simulation.h), on a device of its own. What the ranks share are
// results: a buffer for each world, which its owner writes, and sums over ranks. Rank 0 runs all worlds alone, too, in
// turns with all ranks, and compares every bit and the time.
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/mpi.h>

#include "bodies_options.h"
#include "simulation.h"

typedef struct job {
  weir_mpi *mpi;
  uint32_t rank, ranks;
  const simulation_options *all; // as one rank alone runs them
  unsigned char *reports;        // of each world: digests of its state after every step, then its bodies at the end
  weir_buffer **buffers;         // the same, distributed
} job;

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

static void *allocate(size_t count, size_t bytes) {
  void *made = calloc(count, bytes);
  if (made == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return made;
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

static int32_t first_world_of(const job *of, uint32_t rank) {
  return (int32_t)(rank * (uint32_t)of->all->worlds / of->ranks);
}

static size_t report_bytes(const job *of) {
  return (size_t)of->all->steps * sizeof(uint64_t) + (size_t)of->all->bodies * sizeof(physics_body);
}

static void write_report(const job *of, const simulation_result *result, int32_t worlds, int32_t i,
                         unsigned char *out_report) {
  size_t steps = (size_t)of->all->steps, bodies = (size_t)of->all->bodies;
  for (size_t step = 0; step < steps; step++)
    memcpy(out_report + step * sizeof(uint64_t), &result->digests[step * (size_t)worlds + (size_t)i], sizeof(uint64_t));
  memcpy(out_report + steps * sizeof(uint64_t), result->states + (size_t)i * bodies, bodies * sizeof(physics_body));
}

// Runs worlds, and reports on each. With `start` the time begins where it returns.
static totals run_worlds(const job *of, int32_t first, int32_t count, void (*start)(void *user),
                         unsigned char *out_reports, double *out_seconds) {
  simulation_options options = *of->all;
  simulation_result result;
  options.first_world = first;
  options.worlds = count;
  options.start = start;
  *out_seconds = 0;
  if (count == 0 && start != NULL) start(NULL);
  if (count == 0) return (totals){0};
  if (simulation_run(&options, &result) != WEIR_OK) MPI_Abort(MPI_COMM_WORLD, 1); // it has said why
  totals all = {.record = result.record};
  for (int32_t i = 0; i < options.steps; i++) all.tasks += result.tasks[i];
  for (int32_t i = 0; i < count; i++) write_report(of, &result, count, i, out_reports + (size_t)i * report_bytes(of));
  *out_seconds = result.seconds;
  simulation_result_release(&result);
  return all;
}

// Writes contents to a buffer on its owner; all ranks note that.
static void share(const job *of, weir_buffer *buffer, uint32_t owner, const void *contents, uint64_t bytes) {
  if (of->rank == owner) require(weir_copy_in(buffer, 0, bytes, contents, NULL));
  require(weir_mpi_written(of->mpi, buffer, 0, WEIR_WHOLE, (int32_t)owner));
}

static void create_buffers(const job *of) {
  for (uint32_t rank = 0; rank < of->ranks; rank++) {
    for (int32_t i = first_world_of(of, rank); i < first_world_of(of, rank + 1); i++)
      require(weir_mpi_buffer_create(of->mpi, report_bytes(of), rank, &of->buffers[i]));
  }
}

// Brings the reports of all worlds to rank 0.
static void gather(const job *of) {
  size_t bytes = report_bytes(of);
  for (uint32_t rank = 0; rank < of->ranks; rank++) {
    for (int32_t i = first_world_of(of, rank); i < first_world_of(of, rank + 1); i++) {
      share(of, of->buffers[i], rank, of->reports + (size_t)i * bytes, bytes);
      require(weir_mpi_fetch(of->mpi, of->buffers[i], 0, WEIR_WHOLE, 0));
    }
  }
  require(weir_mpi_finish(of->mpi));
  for (int32_t i = 0; i < of->all->worlds && of->rank == 0; i++)
    require(weir_read(of->buffers[i], 0, bytes, of->reports + (size_t)i * bytes));
}

// Adds the totals of all ranks, for all ranks.
static totals add_totals(const job *of, const totals *own) {
  weir_buffer **parts = allocate(of->ranks, sizeof(weir_buffer *));
  for (uint32_t rank = 0; rank < of->ranks; rank++) {
    require(weir_mpi_buffer_create(of->mpi, sizeof(totals), rank, &parts[rank]));
    share(of, parts[rank], rank, own, sizeof(totals));
  }
  const weir_task task = {.host = combine, .label = "combine"};
  require(weir_mpi_reduce(of->mpi, &task, parts, of->ranks));
  require(weir_mpi_fetch(of->mpi, parts[0], 0, WEIR_WHOLE, WEIR_MPI_ALL));
  totals all;
  require(weir_read(parts[0], 0, sizeof all, &all));
  for (uint32_t rank = 0; rank < of->ranks; rank++) require(weir_mpi_buffer_release(of->mpi, parts[rank]));
  free(parts);
  return all;
}

static void print_rank(const job *of, int32_t worlds, const totals *own, const totals *sums) {
  weir_mpi_statistics counts;
  require(weir_mpi_get_statistics(of->mpi, &counts));
  printf("rank %u of %u: %d of %d worlds, %lld of %lld tasks, %llu bytes sent\n", of->rank, of->ranks, worlds,
         of->all->worlds, (long long)own->tasks, (long long)sums->tasks, (unsigned long long)counts.bytes_sent);
}

static void wait_for_all(void *user) {
  (void)user;
  MPI_Barrier(MPI_COMM_WORLD);
}

// One turn of rank 0 alone and of all ranks. Returns the number of worlds that differ, on rank 0.
static int run_round(const job *of, bool first_round) {
  int32_t first = first_world_of(of, of->rank), count = first_world_of(of, of->rank + 1) - first;
  unsigned char *alone = allocate((size_t)of->all->worlds, report_bytes(of));
  double seconds_alone, own_seconds, seconds;
  totals all = run_worlds(of, 0, of->rank == 0 ? of->all->worlds : 0, NULL, alone, &seconds_alone);
  totals own = run_worlds(of, first, count, wait_for_all, of->reports + (size_t)first * report_bytes(of), &own_seconds);
  MPI_Reduce(&own_seconds, &seconds, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  totals sums = add_totals(of, &own);
  gather(of);
  if (first_round) print_rank(of, count, &own, &sums);
  int different = 0;
  if (of->rank == 0) {
    size_t bytes = report_bytes(of);
    different = all.tasks != sums.tasks;
    for (size_t i = 0; i < (size_t)of->all->worlds; i++)
      different += memcmp(alone + i * bytes, of->reports + i * bytes, bytes) != 0;
    double steps = (double)of->all->worlds * (double)of->all->steps;
    printf("%d worlds differ from those of one rank; greatest overlap of bodies %.1f mm\n", different,
           1e3 * sums.record.overlap);
    printf("steps of a world a second: %.0f by one rank, %.0f by %u ranks, %.2fx\n", steps / seconds_alone,
           steps / seconds, of->ranks, seconds_alone / seconds);
    fflush(stdout);
  }
  free(alone);
  return different;
}

int main(int argc, char **argv) {
  int threads, different = 0, rounds;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  simulation_options all;
  if (!bodies_read_options(argc, argv, &all, &rounds)) MPI_Abort(MPI_COMM_WORLD, 2);
  job of = {.all = &all};
  weir_context *context;
  require(weir_context_create(&(weir_context_options){.devices = "cpu:1"}, &context));
  require(weir_mpi_create(context, NULL, &of.mpi));
  of.rank = weir_mpi_rank(of.mpi);
  of.ranks = weir_mpi_size(of.mpi);
  of.reports = allocate((size_t)all.worlds, report_bytes(&of));
  of.buffers = allocate((size_t)all.worlds, sizeof *of.buffers);
  create_buffers(&of);
  for (int round = 0; round < rounds; round++) different += run_round(&of, round == 0);
  require(weir_mpi_release(of.mpi));
  weir_context_release(context);
  free(of.reports);
  free(of.buffers);
  MPI_Finalize();
  return different == 0 && fflush(stdout) == 0 ? 0 : 1;
}
