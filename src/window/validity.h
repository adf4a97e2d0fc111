// SPDX-License-Identifier: Apache-2.0
//
// Which spaces have which bytes of a buffer, where that differs from byte to byte: parts, in order, together the whole
// buffer, each with the set of spaces that have it. Neighbours differ.
//
// A sorted array of bounded length: who splits a buffer among memories has few parts, and a buffer with too many is made
// whole in one space (src/api/transfer.h).
//
// Not thread-safe: the context's lock guards it.
#ifndef WEIR_WINDOW_VALIDITY_H
#define WEIR_WINDOW_VALIDITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEIR__MAX_PARTS = 512 };

// Where they are taken from; used again without limit.
typedef struct weir__validity_pool {
  struct weir__validity *free;
  size_t free_count;
} weir__validity_pool;

typedef struct weir__validity {
  weir__validity_pool *pool;
  struct weir__validity *next_free;
  uint64_t bytes; // of the buffer
  uint32_t count;
  uint64_t first[WEIR__MAX_PARTS];  // byte of each part
  uint16_t spaces[WEIR__MAX_PARTS]; // bit per space; never 0
} weir__validity;

// Frees what is in the pool: all of it must have been given back.
void weir__validity_pool_deinitialize(weir__validity_pool *pool);

// Makes sure that `count` can be taken. False: no memory.
bool weir__validity_reserve(weir__validity_pool *pool, size_t count);

// One part, which `spaces` have. NULL: the pool is empty.
weir__validity *weir__validity_take(weir__validity_pool *pool, uint64_t bytes, uint16_t spaces);
void weir__validity_give(weir__validity *validity);

// Index of the part that holds byte `at`.
uint32_t weir__validity_find(const weir__validity *validity, uint64_t at);

static inline uint64_t weir__validity_end(const weir__validity *validity, uint32_t index) {
  return index + 1 < validity->count ? validity->first[index + 1] : validity->bytes;
}

// In [lo, hi), the spaces outside `keep` lose the bytes, except where no space would have them then, and those of `add` get
// them. False: there would be too many parts, and nothing has changed.
bool weir__validity_change(weir__validity *validity, uint64_t lo, uint64_t hi, uint16_t keep, uint16_t add);

// All spaces that have some part.
uint16_t weir__validity_spaces(const weir__validity *validity);

#endif // WEIR_WINDOW_VALIDITY_H
