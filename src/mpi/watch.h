// SPDX-License-Identifier: Apache-2.0
//
// Finds ranks that are lost, or that do not submit what this rank waits for.
#ifndef WEIR_MPI_WATCH_H
#define WEIR_MPI_WATCH_H

#include <stdint.h>

struct weir_mpi;

// Looks at all that this rank waits for: asks ranks for signs of life, and makes the job fail if one is overdue. By who
// drives, a few times in each time-out.
void weir__mpi_watch(struct weir_mpi *mpi, uint64_t now);

// Nanoseconds between two looks; 0: never.
uint64_t weir__mpi_watch_interval(const struct weir_mpi *mpi);

#endif // WEIR_MPI_WATCH_H
