// SPDX-License-Identifier: Apache-2.0
//
// A transport for one rank of many, of which the others do not exist: what is sent is gone, what is waited for is there at
// once, and the others have submitted what this one has. Contents are undefined.
#ifndef WEIR_BENCH_MPI_ALONE_H
#define WEIR_BENCH_MPI_ALONE_H

#include "transport.h"

// `rank` is not 0 unless it is the only one. Freed by its `close`. NULL: no memory.
weir__mpi_transport *weir__bench_alone(uint32_t rank, uint32_t size);

#endif // WEIR_BENCH_MPI_ALONE_H
