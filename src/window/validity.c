// SPDX-License-Identifier: Apache-2.0
#include "window/validity.h"

#include <string.h>

#include "base/allocate.h"

void weir__validity_pool_deinitialize(weir__validity_pool *pool) {
  while (pool->free != NULL) {
    weir__validity *validity = pool->free;
    pool->free = validity->next_free;
    weir__free(validity);
  }
  pool->free_count = 0;
}

void weir__validity_give(weir__validity *validity) {
  weir__validity_pool *pool = validity->pool;
  validity->next_free = pool->free;
  pool->free = validity;
  pool->free_count++;
}

bool weir__validity_reserve(weir__validity_pool *pool, size_t count) {
  while (pool->free_count < count) {
    weir__validity *validity = weir__allocate(sizeof *validity);
    if (validity == NULL) return false;
    validity->pool = pool;
    weir__validity_give(validity);
  }
  return true;
}

weir__validity *weir__validity_take(weir__validity_pool *pool, uint64_t bytes, uint16_t spaces) {
  weir__validity *validity = pool->free;
  if (validity == NULL) return NULL;
  pool->free = validity->next_free;
  pool->free_count--;
  validity->bytes = bytes;
  validity->count = 1;
  validity->first[0] = 0;
  validity->spaces[0] = spaces;
  return validity;
}

uint32_t weir__validity_find(const weir__validity *validity, uint64_t at) {
  uint32_t low = 0, high = validity->count;
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    if (validity->first[middle] <= at)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static uint16_t changed(uint16_t spaces, uint16_t keep, uint16_t add) {
  uint16_t result = (uint16_t)((spaces & keep) | add);
  return result != 0 ? result : spaces;
}

static bool starts_part(const weir__validity *validity, uint64_t at) {
  return at == validity->bytes || validity->first[weir__validity_find(validity, at)] == at;
}

// Makes a part start at byte `at`; returns its index (count, at the end of the buffer).
static uint32_t split_at(weir__validity *validity, uint64_t at) {
  if (at == validity->bytes) return validity->count;
  uint32_t index = weir__validity_find(validity, at);
  if (validity->first[index] == at) return index;
  uint32_t behind = validity->count - index - 1;
  memmove(&validity->first[index + 2], &validity->first[index + 1], behind * sizeof validity->first[0]);
  memmove(&validity->spaces[index + 2], &validity->spaces[index + 1], behind * sizeof validity->spaces[0]);
  validity->first[index + 1] = at;
  validity->spaces[index + 1] = validity->spaces[index];
  validity->count++;
  return index + 1;
}

// Joins equal neighbours among the parts from `from` to `to`, both included.
static void join(weir__validity *validity, uint32_t from, uint32_t to) {
  uint32_t kept = from;
  for (uint32_t i = from + 1; i < validity->count; i++) {
    if (i <= to && validity->spaces[i] == validity->spaces[kept]) continue;
    kept++;
    validity->first[kept] = validity->first[i];
    validity->spaces[kept] = validity->spaces[i];
  }
  validity->count = kept + 1;
}

bool weir__validity_change(weir__validity *validity, uint64_t lo, uint64_t hi, uint16_t keep, uint16_t add) {
  bool changes = false;
  for (uint32_t i = weir__validity_find(validity, lo); i < validity->count && validity->first[i] < hi && !changes; i++)
    changes = changed(validity->spaces[i], keep, add) != validity->spaces[i];
  if (!changes) return true;
  uint32_t more = !starts_part(validity, lo) + !starts_part(validity, hi);
  if (validity->count + more > WEIR__MAX_PARTS) return false;
  uint32_t begin = split_at(validity, lo), end = split_at(validity, hi);
  for (uint32_t i = begin; i < end; i++) validity->spaces[i] = changed(validity->spaces[i], keep, add);
  join(validity, begin > 0 ? begin - 1 : 0, end);
  return true;
}

uint16_t weir__validity_spaces(const weir__validity *validity) {
  uint16_t spaces = 0;
  for (uint32_t i = 0; i < validity->count; i++) spaces |= validity->spaces[i];
  return spaces;
}
