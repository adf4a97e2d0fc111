// SPDX-License-Identifier: Apache-2.0
//
// A job whose ranks are threads of this process, each with a context and a transport between threads.
#ifndef WEIR_TESTS_MPI_RANK_THREADS_H
#define WEIR_TESTS_MPI_RANK_THREADS_H

#include "job.h"
#include "transport_threads.h"

enum { RANK_THREADS_MOST = 4 };

typedef struct rank_run rank_run;
struct rank_run {
  threads_job *job;
  uint32_t rank, size;
  uint64_t seed;
  void (*body)(rank_run *run);
  weir_context *context;
  weir_mpi *mpi;
  weir_mpi_options options;
  weir_status status, released;
  uint64_t direct_sent, direct_received; // as the body says
  bool late;                             // as the body says
  bool dead;                             // as the body says
  char text[600], end[600];              // `end`: of weir_mpi_release, if it failed
};

// The devices of the ranks' contexts; "cpu:1" unless set.
extern const char *rank_threads_devices[RANK_THREADS_MOST];

// Sets them by name: "opencl" or "cuda" gives each rank such a device beside its worker, "mixed" gives ranks different ones. False:
// some device is not there, and why is printed.
bool rank_threads_choose(const char *name);

// For timelines: flags of the contexts; the clock of each rank is so far ahead of that of the rank before it; and what is
// called after weir_mpi_release, before the context's. 0 and NULL unless set.
extern uint32_t rank_threads_flags;
extern int64_t rank_threads_skew_ns;
extern void (*rank_threads_after)(rank_run *run);

// Runs a body on each rank, and then weir_mpi_release, whose status is `released`.
void rank_threads_run(rank_run *runs, uint32_t size, uint64_t seed, const weir_mpi_options *options,
                      void (*body)(rank_run *));

#endif // WEIR_TESTS_MPI_RANK_THREADS_H
