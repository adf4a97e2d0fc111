// SPDX-License-Identifier: Apache-2.0
#include "transfer.h"

void weir__mpi_note_write(weir_mpi *mpi, weir__mpi_buffer *buffer, uint64_t offset, uint64_t end, uint32_t rank,
                          uint64_t version) {
  pthread_mutex_lock(&mpi->tables);
  weir__mpi_table_write(&buffer->table, offset, end, rank, version);
  pthread_mutex_unlock(&mpi->tables);
}

void weir__mpi_note_holder(weir_mpi *mpi, weir__mpi_buffer *buffer, uint64_t offset, uint64_t end, uint32_t rank) {
  pthread_mutex_lock(&mpi->tables);
  weir__mpi_table_add_holder(&buffer->table, offset, end, rank);
  pthread_mutex_unlock(&mpi->tables);
}

bool weir__mpi_make_room(weir_mpi *mpi, weir__mpi_buffer *buffer, uint32_t pieces) {
  pthread_mutex_lock(&mpi->tables);
  bool made = weir__mpi_table_reserve(&buffer->table, pieces);
  pthread_mutex_unlock(&mpi->tables);
  return made;
}

static void carry(weir_mpi *mpi, const weir__mpi_call *call, const weir__mpi_buffer *buffer, uint64_t offset,
                  uint64_t end, uint32_t from, uint32_t to, weir_device *device) {
  if (from == mpi->rank) weir__mpi_send(mpi, call, to, buffer->local, offset, end - offset);
  if (to == mpi->rank) weir__mpi_receive(mpi, call, from, buffer->local, offset, end - offset, device);
}

bool weir__mpi_lacks(const weir_mpi *mpi, const weir__mpi_buffer *buffer, uint64_t offset, uint64_t end) {
  weir__mpi_segment missing;
  return weir__mpi_table_missing(&buffer->table, offset, end, mpi->rank, &missing) != UINT32_MAX;
}

void weir__mpi_supply(weir_mpi *mpi, const weir__mpi_call *call, weir__mpi_buffer *buffer, uint64_t offset,
                      uint64_t end, uint32_t rank, weir_device *device) {
  weir__mpi_segment missing;
  while (offset < end && weir__mpi_table_missing(&buffer->table, offset, end, rank, &missing) != UINT32_MAX) {
    carry(mpi, call, buffer, missing.first, missing.end, missing.writer, rank, device);
    weir__mpi_note_holder(mpi, buffer, missing.first, missing.end, rank);
    offset = missing.end;
  }
}

// The rank at a place of the tree: the writer, then those that lack the segment, from the writer's number on.
static uint32_t next_place(const weir__mpi_table *table, uint32_t segment, uint32_t writer, uint32_t rank) {
  do rank = (rank + 1) % table->ranks;
  while (rank != writer && weir__mpi_table_holds(table, segment, rank));
  return rank;
}

static uint32_t parent_of(uint32_t place) {
  uint32_t bit = 1;
  while (bit <= place / 2) bit *= 2;
  return place - bit;
}

// The rank that is `place` places behind the writer.
static uint32_t rank_at(const weir__mpi_table *table, uint32_t segment, uint32_t writer, uint32_t place) {
  uint32_t rank = writer;
  for (uint32_t i = 0; i < place; i++) rank = next_place(table, segment, writer, rank);
  return rank;
}

static void spread(weir_mpi *mpi, const weir__mpi_call *call, weir__mpi_buffer *buffer, uint32_t segment,
                   uint64_t offset, uint64_t end, weir_device *device) {
  weir__mpi_table *table = &buffer->table;
  uint32_t writer = table->segments[segment].writer, to = writer;
  for (uint32_t place = 1; (to = next_place(table, segment, writer, to)) != writer; place++)
    carry(mpi, call, buffer, offset, end, rank_at(table, segment, writer, parent_of(place)), to, device);
  weir__mpi_note_write(mpi, buffer, offset, end, writer, table->segments[segment].version);
  for (uint32_t rank = 0; rank < table->ranks; rank++) weir__mpi_note_holder(mpi, buffer, offset, end, rank);
}

void weir__mpi_supply_all(weir_mpi *mpi, const weir__mpi_call *call, weir__mpi_buffer *buffer, uint64_t offset,
                          uint64_t end, weir_device *device) {
  while (offset < end) {
    uint32_t segment = weir__mpi_table_find(&buffer->table, offset);
    uint64_t stop = buffer->table.segments[segment].end;
    if (stop > end) stop = end;
    if (buffer->table.segments[segment].version != 0) spread(mpi, call, buffer, segment, offset, stop, device);
    offset = stop;
  }
}
