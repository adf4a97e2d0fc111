// SPDX-License-Identifier: Apache-2.0
#include "ranks.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "clock.h"
#include "runtime.h"

static size_t number_of(int64_t step, int64_t point) {
  return (size_t)(step * WEIR__BENCH_WIDTH + point);
}

bool weir__bench_concerns(const weir__bench_ranks *ranks, int64_t step, int64_t point) {
  if (weir__bench_rank_of(ranks, point) == ranks->rank) return true;
  if (ranks->readers[number_of(step, point)] >> ranks->rank & 1) return true;
  weir__bench_inputs inputs = weir__bench_grid_inputs(ranks->grid, step, point);
  for (uint8_t i = 0; i < inputs.count; i++) {
    if (weir__bench_rank_of(ranks, inputs.points[i]) == ranks->rank) return true;
  }
  return false;
}

static void note_readers(weir__bench_ranks *ranks, int64_t step, int64_t point) {
  weir__bench_inputs inputs = weir__bench_grid_inputs(ranks->grid, step, point);
  int reader = weir__bench_rank_of(ranks, point);
  for (uint8_t i = 0; i < inputs.count; i++) {
    uint8_t *readers = &ranks->readers[number_of(step - 1, inputs.points[i])];
    bool is_new = (*readers >> reader & 1) == 0 && weir__bench_rank_of(ranks, inputs.points[i]) != reader;
    *readers |= (uint8_t)(1 << reader);
    if (is_new) ranks->fewest += sizeof(weir__bench_cell);
  }
}

static bool find_readers(weir__bench_ranks *ranks) {
  weir__bench_grid *grid = ranks->grid;
  ranks->readers = calloc((size_t)(grid->steps * WEIR__BENCH_WIDTH), 1);
  for (int64_t step = 1; ranks->readers && step < grid->steps; step++) {
    int64_t end = weir__bench_end_point(grid, step);
    for (int64_t point = weir__bench_first_point(grid, step); point < end; point++) note_readers(ranks, step, point);
  }
  return ranks->readers != NULL;
}

// Keeps a rank to one of the cores that the process may use.
static void pin(int rank) {
  cpu_set_t usable, chosen;
  CPU_ZERO(&chosen);
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0 || CPU_COUNT(&usable) == 0) return;
  int left = rank % (CPU_COUNT(&usable) < WEIR__BENCH_WORKERS ? CPU_COUNT(&usable) : WEIR__BENCH_WORKERS);
  for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &usable) && left-- == 0) CPU_SET(cpu, &chosen);
  }
  if (sched_setaffinity(0, sizeof(chosen), &chosen) != 0) perror("sched_setaffinity");
}

// Iterations per second of all ranks that run large kernels and nothing else, one thread each.
static double find_peak(int size) {
  uint64_t iterations = 1 << 21;
  double peak = 0;
  for (int i = 0; i < 5; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = weir__bench_seconds();
    weir__bench_compute(iterations);
    double own = weir__bench_seconds() - begin, slowest = own;
    MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (size * (double)iterations / slowest > peak) peak = size * (double)iterations / slowest;
  }
  return peak;
}

static const weir__bench_ranks_runtime *current_runtime;
static weir__bench_ranks current;

static void agree(weir__bench_grid *grid, double *seconds) {
  double own[2] = {*seconds, (double)grid->errors}, all[2];
  MPI_Allreduce(own, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  *seconds = all[0];
  grid->errors = (int64_t)all[1];
  MPI_Barrier(MPI_COMM_WORLD);
}

static void run(weir__bench_grid *grid) {
  (void)grid;
  current_runtime->run(&current);
}

// The bytes that all ranks send in one run.
static double count_bytes(void) {
  uint64_t before = current_runtime->sent(&current);
  current.grid->pass++;
  current.grid->iterations = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  current_runtime->run(&current);
  uint64_t own = current_runtime->sent(&current) - before, all = own;
  MPI_Allreduce(&own, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return (double)all;
}

static int measure(weir__bench_ranks *ranks, uint64_t repeat) {
  const char *name = current_runtime->name, *pattern = ranks->grid->pattern;
  for (uint64_t i = 0; i < repeat; i++) {
    double us = weir__bench_metg(ranks->grid, run, find_peak(ranks->size));
    if (!isfinite(us) && ranks->rank == 0)
      fprintf(stderr, "%s, %s: %s\n", name, pattern,
              isinf(us) ? "less than half of the peak rate with tasks of 1 ms" : "inputs of tasks were not right");
    if (!isfinite(us)) return 1;
    if (ranks->rank == 0) weir__bench_print(pattern, name, "us", us);
  }
  double bytes = count_bytes();
  if (ranks->rank == 0) weir__bench_print(pattern, name, "bytes", bytes);
  if (ranks->rank == 0) weir__bench_print(pattern, "minimum", "bytes", (double)ranks->fewest);
  return ranks->grid->errors == 0 ? 0 : 1;
}

// Switches between this rank's threads so far, and the processor's time that they took, in us.
static void count_switches(double out_counts[2]) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  out_counts[0] = (double)(usage.ru_nvcsw + usage.ru_nivcsw);
  out_counts[1] = 1e6 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                  (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static int compare_seconds(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

// Runs tasks of one size.
static int measure_size(weir__bench_ranks *ranks, uint64_t iterations, uint64_t runs) {
  const char *name = current_runtime->name, *pattern = ranks->grid->pattern;
  double *seconds = calloc(runs, sizeof(double)), before[2], after[2], all[2];
  if (seconds == NULL) return 1;
  count_switches(before);
  for (uint64_t i = 0; i < runs; i++) {
    ranks->grid->pass++;
    ranks->grid->iterations = iterations;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = weir__bench_seconds();
    current_runtime->run(ranks);
    seconds[i] = weir__bench_seconds() - begin;
    agree(ranks->grid, &seconds[i]);
  }
  count_switches(after);
  for (int i = 0; i < 2; i++) after[i] -= before[i];
  MPI_Allreduce(after, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  qsort(seconds, runs, sizeof(double), compare_seconds);
  double tasks = (double)ranks->grid->task_count, scale = 1e6 * ranks->size / tasks;
  if (ranks->rank == 0) {
    weir__bench_print(pattern, name, "us least", seconds[0] * scale);
    weir__bench_print(pattern, name, "us quartile", seconds[runs / 4] * scale);
    weir__bench_print(pattern, name, "switches", all[0] / tasks / (double)runs);
    weir__bench_print(pattern, name, "us of processors", all[1] / tasks / (double)runs);
  }
  free(seconds);
  return ranks->grid->errors == 0 ? 0 : 1;
}

static int run_grid(int argc, char **argv) {
  weir__bench_grid grid;
  if (!weir__bench_grid_create(&grid, argv[1], (int64_t)weir__bench_option(argc, argv, "--steps", 500))) {
    fprintf(stderr, "\"%s\" is no pattern, or there is no memory\n", argv[1]);
    return 2;
  }
  grid.agree = agree;
  current.grid = &grid;
  current.leaves_out = strcmp(weir__bench_text_option(argc, argv, "--variant", ""), "own") == 0;
  int result = 1;
  if (find_readers(&current)) {
    current_runtime->prepare(&current);
    uint64_t iterations = weir__bench_option(argc, argv, "--iterations", 0);
    result = iterations == 0 ? measure(&current, weir__bench_option(argc, argv, "--repeat", 1))
                             : measure_size(&current, iterations, weir__bench_option(argc, argv, "--runs", 40));
    current_runtime->finish(&current);
  }
  free(current.readers);
  weir__bench_grid_release(&grid);
  return result;
}

int weir__bench_ranks_main(const weir__bench_ranks_runtime *runtime, int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr,
            "Usage: mpirun -n N %s PATTERN [--steps N] [--repeat N] [--variant own] [--pin 0]\n"
            "       [--iterations N [--runs N]]\n",
            argv[0]);
    return 2;
  }
  const char *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK"); // known before MPI_Init, which starts threads
  if (local == NULL) local = getenv("MPI_LOCALRANKID");
  if (weir__bench_option(argc, argv, "--pin", 1) != 0) pin(local == NULL ? 0 : atoi(local));
  int given;
  MPI_Init_thread(&argc, &argv, runtime->threads, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &current.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &current.size);
  current_runtime = runtime;
  const char *problem = given < runtime->threads               ? "MPI does not support the threads that it needs"
                        : current.size > WEIR__BENCH_MAX_RANKS ? "there are too many ranks"
                                                               : runtime->start();
  if (problem != NULL) fprintf(stderr, "%s\n", problem);
  int result = problem == NULL ? run_grid(argc, argv) : 3;
  if (result != 0) MPI_Abort(MPI_COMM_WORLD, result);
  runtime->stop();
  MPI_Finalize();
  return result;
}
