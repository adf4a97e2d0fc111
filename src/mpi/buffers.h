// SPDX-License-Identifier: Apache-2.0
//
// The distributed buffers of a job, by their local weir_buffer.
#ifndef WEIR_MPI_BUFFERS_H
#define WEIR_MPI_BUFFERS_H

#include "table.h"
#include "weir/weir.h"

struct weir_mpi;

typedef struct weir__mpi_buffer {
  struct weir_mpi *mpi;
  weir_buffer *local;
  uint64_t number; // of the call that created it, the same on all ranks
  uint64_t bytes;
  uint32_t owner;
  weir__mpi_table table;
} weir__mpi_buffer;

typedef struct weir__mpi_slot {
  const weir_buffer *local; // NULL: it is free
  weir__mpi_buffer *buffer;
} weir__mpi_slot;

// A hash table with open addressing.
typedef struct weir__mpi_buffers {
  weir__mpi_slot *slots;
  uint32_t capacity, count; // a power of two; at most half of the slots are taken
} weir__mpi_buffers;

void weir__mpi_buffers_release(weir__mpi_buffers *buffers);

// False: no memory.
bool weir__mpi_buffers_add(weir__mpi_buffers *buffers, weir__mpi_buffer *buffer);
weir__mpi_buffer *weir__mpi_buffers_find(const weir__mpi_buffers *buffers, const weir_buffer *local);

// Takes a buffer out and frees it.
void weir__mpi_buffers_remove(weir__mpi_buffers *buffers, weir__mpi_buffer *buffer);

// Finds a buffer, and makes the end of a range. Errors as the calls of weir/mpi.h say. `sequence` is held.
weir_status weir__mpi_buffer_range(struct weir_mpi *mpi, weir_buffer *local, uint64_t offset, uint64_t bytes,
                                   weir__mpi_buffer **out_buffer, uint64_t *out_end);

// A weir_read_function: whether this rank has the bytes, for calls of Weir that weir/mpi.h does not know. `buffer` is a
// weir__mpi_buffer. Any thread.
weir_status weir__mpi_may_read(void *buffer, uint64_t offset, uint64_t bytes);

#endif // WEIR_MPI_BUFFERS_H
