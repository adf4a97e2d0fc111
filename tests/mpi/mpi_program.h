// SPDX-License-Identifier: Apache-2.0
//
// Random programs over ranks, and what serial execution gives: contents, poisoned bytes, and the bytes that must
// travel.
#ifndef WEIR_TESTS_MPI_PROGRAM_H
#define WEIR_TESTS_MPI_PROGRAM_H

#include <stdbool.h>

#include "weir/mpi.h"

enum { MPI_BUFFERS = 5, MPI_LARGEST = 300, MPI_STEPS = 60, MPI_RANKS = 4 };

// Runs the program of a seed on this rank, and compares what it holds at the end. Returns "" or what is wrong; static
// to the thread.
const char *mpi_program_run(weir_context *context, weir_mpi *mpi, uint64_t seed, bool failures);

#endif // WEIR_TESTS_MPI_PROGRAM_H
