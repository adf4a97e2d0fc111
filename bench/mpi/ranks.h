// SPDX-License-Identifier: Apache-2.0
//
// Task graphs of Task Bench over ranks of MPI: what all measured runtimes share. Each is a program of its own,
// weir-bench-mpi-NAME, which mpirun starts:
//
// weir-bench-mpi-NAME PATTERN [--steps N] [--repeat N] [--variant WORD] [--pin 0] [--iterations N [--runs N]]
//
// Points are dealt to ranks in blocks; the rank of a point runs its tasks. Each rank keeps to one core, unless --pin
// 0. The peak rate is that of all ranks at once. Rank 0 prints a JSON object for the METG and one for the bytes of
// contents that all ranks sent in a run, beside the fewest that this division of the tasks needs: each cell once to
// each other rank that reads it. --iterations N instead runs all tasks --runs times with kernels of one size, and prints, of a
// task: the time of the shortest run and the lower quartile (time x ranks / tasks), and the mean of switches between
// threads and of processor time, of all ranks.
#ifndef WEIR_BENCH_MPI_RANKS_H
#define WEIR_BENCH_MPI_RANKS_H

#include <mpi.h>

#include "taskbench.h"

enum { WEIR__BENCH_MAX_RANKS = 8 };

// The ranks of a grid, and what is known of each cell beforehand.
typedef struct weir__bench_ranks {
  weir__bench_grid *grid;
  int rank, size;
  uint8_t *readers; // of each cell: a bit for each rank whose tasks read it
  uint64_t fewest;  // bytes that all ranks must send in a run
  bool leaves_out;  // a rank submits only what concerns it
} weir__bench_ranks;

typedef struct weir__bench_ranks_runtime {
  const char *name; // with its version
  int threads;      // support that it needs of MPI
  // Starts the runtime with one worker. Returns NULL, or why it cannot.
  const char *(*start)(void);
  void (*stop)(void);
  // Untimed, around all runs.
  void (*prepare)(const weir__bench_ranks *ranks);
  void (*finish)(const weir__bench_ranks *ranks);
  // Runs all tasks; returns when those of this rank are done and what it sends has left.
  void (*run)(const weir__bench_ranks *ranks);
  // Bytes of contents that this rank has sent since the start.
  uint64_t (*sent)(const weir__bench_ranks *ranks);
} weir__bench_ranks_runtime;

// The main function of a runtime's program. Returns the exit code.
int weir__bench_ranks_main(const weir__bench_ranks_runtime *runtime, int argc, char **argv);

// The rank of a point, and whether a rank has a part in a task: runs it, reads what it writes, or writes what it reads.
static inline int weir__bench_rank_of(const weir__bench_ranks *ranks, int64_t point) {
  return (int)(point * ranks->size / WEIR__BENCH_WIDTH);
}
bool weir__bench_concerns(const weir__bench_ranks *ranks, int64_t step, int64_t point);

#endif // WEIR_BENCH_MPI_RANKS_H
