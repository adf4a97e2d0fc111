// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <stdlib.h>
#include <string.h>

static uint64_t *holders_of(const weir__mpi_table *table, uint32_t index) {
  return table->holders + (size_t)index * table->words;
}

bool weir__mpi_table_holds(const weir__mpi_table *table, uint32_t segment, uint32_t rank) {
  return (holders_of(table, segment)[rank / 64] >> (rank % 64) & 1) != 0;
}

static void set_holder(weir__mpi_table *table, uint32_t segment, uint32_t rank) {
  holders_of(table, segment)[rank / 64] |= UINT64_C(1) << (rank % 64);
}

// Memory in place of `*array`, which is `own` if it is not allocated, with the first `kept` bytes of it. NULL: no memory.
static void *enlarge(void *array, const void *own, size_t kept, size_t bytes) {
  if (array != own) return realloc(array, bytes);
  void *enlarged = malloc(bytes);
  if (enlarged != NULL) memcpy(enlarged, own, kept);
  return enlarged;
}

static bool grow(weir__mpi_table *table, uint32_t capacity) {
  size_t words = (size_t)table->words * sizeof(uint64_t), bytes = capacity * sizeof(weir__mpi_segment);
  weir__mpi_segment *segments = enlarge(table->segments, &table->own_segment, sizeof *segments, bytes);
  if (segments == NULL) return false;
  table->segments = segments;
  uint64_t *holders = enlarge(table->holders, &table->own_holders, sizeof *holders, capacity * words);
  if (holders == NULL) return false;
  table->holders = holders;
  table->capacity = capacity;
  return true;
}

bool weir__mpi_table_reserve(weir__mpi_table *table, uint32_t pieces) {
  uint32_t wanted = table->count + 2 * pieces + 2;
  if (wanted <= table->capacity) return true;
  return grow(table, 2 * wanted);
}

bool weir__mpi_table_create(weir__mpi_table *table, uint64_t bytes, uint32_t ranks) {
  *table = (weir__mpi_table){.ranks = ranks, .words = (ranks + 63) / 64, .capacity = 1};
  table->segments = &table->own_segment;
  table->holders = &table->own_holders;
  if (table->words > 1 && !grow(table, 1)) {
    weir__mpi_table_release(table);
    return false;
  }
  table->count = 1;
  table->segments[0] = (weir__mpi_segment){.end = bytes};
  memset(table->holders, 0xff, table->words * sizeof *table->holders);
  return true;
}

void weir__mpi_table_release(weir__mpi_table *table) {
  if (table->segments != &table->own_segment) free(table->segments);
  if (table->holders != &table->own_holders) free(table->holders);
  *table = (weir__mpi_table){0};
}

uint32_t weir__mpi_table_find(const weir__mpi_table *table, uint64_t byte) {
  uint32_t low = 0, high = table->count;
  while (low + 1 < high) {
    uint32_t middle = low + (high - low) / 2;
    if (table->segments[middle].first <= byte)
      low = middle;
    else
      high = middle;
  }
  return low;
}

// Puts `count` segments in the place of `old` ones at an index; what is new is not set.
static void resize(weir__mpi_table *table, uint32_t index, uint32_t old, uint32_t count) {
  uint32_t behind = table->count - index - old;
  memmove(&table->segments[index + count], &table->segments[index + old], behind * sizeof *table->segments);
  memmove(holders_of(table, index + count), holders_of(table, index + old),
          (size_t)behind * table->words * sizeof *table->holders);
  table->count += count - old;
}

// Makes a segment begin at a byte; returns its index, which is the number of segments if the byte is the end of all.
static uint32_t cut(weir__mpi_table *table, uint64_t byte) {
  uint32_t index = weir__mpi_table_find(table, byte);
  weir__mpi_segment *segment = &table->segments[index];
  if (segment->first == byte) return index;
  if (segment->end == byte) return index + 1;
  resize(table, index, 1, 2);
  table->segments[index + 1] = *segment;
  memcpy(holders_of(table, index + 1), holders_of(table, index), table->words * sizeof *table->holders);
  table->segments[index].end = table->segments[index + 1].first = byte;
  return index + 1;
}

static bool alike(const weir__mpi_table *table, uint32_t a, uint32_t b) {
  return table->segments[a].version == table->segments[b].version &&
         memcmp(holders_of(table, a), holders_of(table, b), table->words * sizeof *table->holders) == 0;
}

// Joins the segments from `index` to `last` with their neighbours of the same state.
static void join(weir__mpi_table *table, uint32_t index, uint32_t last) {
  if (index > 0) index--;
  while (index < last + 1 && index + 1 < table->count) {
    if (!alike(table, index, index + 1)) {
      index++;
      continue;
    }
    table->segments[index].end = table->segments[index + 1].end;
    resize(table, index + 1, 1, 0);
    if (last > 0) last--;
  }
}

void weir__mpi_table_write(weir__mpi_table *table, uint64_t first, uint64_t end, uint32_t rank, uint64_t version) {
  bool whole = weir__mpi_table_is_whole(table, first, end);
  uint32_t begin = whole ? 0 : cut(table, first), behind = whole ? 1 : cut(table, end);
  if (!whole) resize(table, begin, behind - begin, 1);
  table->segments[begin] = (weir__mpi_segment){.first = first, .end = end, .version = version, .writer = rank};
  memset(holders_of(table, begin), 0, table->words * sizeof *table->holders);
  set_holder(table, begin, rank);
  if (!whole) join(table, begin, begin);
}

uint32_t weir__mpi_table_missing(const weir__mpi_table *table, uint64_t first, uint64_t end, uint32_t rank,
                                 weir__mpi_segment *out_missing) {
  uint32_t index = weir__mpi_table_find(table, first);
  while (index < table->count && table->segments[index].first < end && weir__mpi_table_holds(table, index, rank))
    index++;
  if (index == table->count || table->segments[index].first >= end) return UINT32_MAX;
  *out_missing = table->segments[index];
  if (out_missing->first < first) out_missing->first = first;
  if (out_missing->end > end) out_missing->end = end;
  return index;
}

void weir__mpi_table_add_holder(weir__mpi_table *table, uint64_t first, uint64_t end, uint32_t rank) {
  if (weir__mpi_table_is_whole(table, first, end)) {
    set_holder(table, 0, rank);
    return;
  }
  uint32_t begin = cut(table, first), behind = cut(table, end);
  for (uint32_t i = begin; i < behind; i++) set_holder(table, i, rank);
  join(table, begin, behind - 1);
}
