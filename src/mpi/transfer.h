// SPDX-License-Identifier: Apache-2.0
//
// Which bytes travel for a call. `sequence` is held.
#ifndef WEIR_MPI_TRANSFER_H
#define WEIR_MPI_TRANSFER_H

#include "job.h"

// Note in the table of a buffer what happened to a range, or make room for that (false: no memory). What they do:
// weir__mpi_table_write, weir__mpi_table_add_holder, weir__mpi_table_reserve.
void weir__mpi_note_write(weir_mpi *mpi, weir__mpi_buffer *buffer, uint64_t offset, uint64_t end, uint32_t rank,
                          uint64_t version);
void weir__mpi_note_holder(weir_mpi *mpi, weir__mpi_buffer *buffer, uint64_t offset, uint64_t end, uint32_t rank);
bool weir__mpi_make_room(weir_mpi *mpi, weir__mpi_buffer *buffer, uint32_t pieces);

// Whether this rank lacks some byte of a range.
bool weir__mpi_lacks(const weir_mpi *mpi, const weir__mpi_buffer *buffer, uint64_t offset, uint64_t end);

// Lets a rank have a range: what it lacks comes from the rank that wrote it last. `device`:
// that is to use it here; NULL: the host, or that is not known.
void weir__mpi_supply(weir_mpi *mpi, const weir__mpi_call *call, weir__mpi_buffer *buffer, uint64_t offset,
                      uint64_t end, uint32_t rank, weir_device *device);

// Lets all ranks have a range. Each version in it goes down a binomial tree of those that lack it, whose root wrote it.
void weir__mpi_supply_all(weir_mpi *mpi, const weir__mpi_call *call, weir__mpi_buffer *buffer, uint64_t offset,
                          uint64_t end, weir_device *device);

#endif // WEIR_MPI_TRANSFER_H
