// SPDX-License-Identifier: Apache-2.0
//
// Which ranks hold which bytes of a buffer: segments of equal state, in order, without gaps. A function of the sequence
// alone, so that all ranks compute the same.
#ifndef WEIR_MPI_TABLE_H
#define WEIR_MPI_TABLE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct weir__mpi_segment {
  uint64_t first, end; // bytes
  uint64_t version;    // number of the call that wrote them; 0: nobody did
  uint32_t writer;     // the rank that wrote them, which holds them
} weir__mpi_segment;

typedef struct weir__mpi_table {
  uint32_t ranks, words; // of a set of ranks
  uint32_t count, capacity;
  weir__mpi_segment *segments;
  uint64_t *holders; // `words` words for each segment
  // What most buffers need, beside the rest: one segment, for up to 64 ranks. The pointers lead here then.
  weir__mpi_segment own_segment;
  uint64_t own_holders;
} weir__mpi_table;

// All ranks hold the contents that nobody wrote. The table stays where it is. False: no memory.
bool weir__mpi_table_create(weir__mpi_table *table, uint64_t bytes, uint32_t ranks);
void weir__mpi_table_release(weir__mpi_table *table);

// Makes room for what one write and any number of receives into `pieces` ranges need, so that they cannot fail.
bool weir__mpi_table_reserve(weir__mpi_table *table, uint32_t pieces);

// Whether the table is one segment, and the bytes all of it: then a write or receive needs no room.
static inline bool weir__mpi_table_is_whole(const weir__mpi_table *table, uint64_t first, uint64_t end) {
  return table->count == 1 && first == 0 && end == table->segments[0].end;
}

// A rank overwrote the bytes, and alone holds them.
void weir__mpi_table_write(weir__mpi_table *table, uint64_t first, uint64_t end, uint32_t rank, uint64_t version);

// Finds the first bytes of [first, end) that a rank lacks: of one version, held by the same ranks. Returns the index of
// their segment, and their end if several segments follow each other with that state; UINT32_MAX: there are none.
uint32_t weir__mpi_table_missing(const weir__mpi_table *table, uint64_t first, uint64_t end, uint32_t rank,
                                 weir__mpi_segment *out_missing);

// A rank has these bytes from now on.
void weir__mpi_table_add_holder(weir__mpi_table *table, uint64_t first, uint64_t end, uint32_t rank);

bool weir__mpi_table_holds(const weir__mpi_table *table, uint32_t segment, uint32_t rank);

// The index of the segment that a byte is in.
uint32_t weir__mpi_table_find(const weir__mpi_table *table, uint64_t byte);

#endif // WEIR_MPI_TABLE_H
