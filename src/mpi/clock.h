// SPDX-License-Identifier: Apache-2.0
//
// How far rank 0's clock is ahead of this rank's, for timelines: Cristian's algorithm (F. Cristian, "Probabilistic clock
// synchronization", Distributed Computing 3, 1989). A rank asks rank 0 for the time, and takes it for that of the middle
// of the round trip. It is wrong by half of that at most. Of several round trips the shortest counts. Ranks on one
// machine have one clock.
#ifndef WEIR_MPI_CLOCK_H
#define WEIR_MPI_CLOCK_H

#include "control.h"

struct weir_mpi;

typedef struct weir__mpi_clock {
  uint32_t rounds;   // that are over
  int64_t offset_ns; // rank 0's time is this rank's plus so much,
  uint64_t error_ns; // give or take so much
  bool is_known;
} weir__mpi_clock;

// Takes a round trip: when it began and ended here, and what rank 0's clock showed in between.
void weir__mpi_clock_add(weir__mpi_clock *clock, uint64_t asked_ns, uint64_t theirs_ns, uint64_t answered_ns);

// The job has begun: if the context traces, its rank is noted there, and rank 0 is asked for the time.
void weir__mpi_clock_begin(struct weir_mpi *mpi);

// By the thread that drives.
void weir__mpi_clock_answer(struct weir_mpi *mpi, uint32_t from, const weir__mpi_control *control);
void weir__mpi_clock_take(struct weir_mpi *mpi, const weir__mpi_control *control);

#endif // WEIR_MPI_CLOCK_H
