// SPDX-License-Identifier: Apache-2.0
//
// A memory source for pools over a slow allocator (a device's, or pinned memory): large chunks, from which blocks are cut one
// after another. A chunk whose blocks were all given back is used again, or returned if it was made for one large block.
//
// Not thread-safe: the context's lock guards it.
#ifndef WEIR_MEMORY_ARENA_H
#define WEIR_MEMORY_ARENA_H

#include "memory/pool.h"

enum { WEIR__ARENA_ALIGNMENT = 256 };

typedef struct weir__arena {
  weir__memory_source source;       // of chunks, aligned to WEIR__ARENA_ALIGNMENT at least
  uint64_t chunk_bytes, largest;    // of the next chunk, which doubles up to `largest`
  struct weir__arena_chunk *chunks; // newest first
  bool leaves;                      // some of its memory must never be returned: none of it is at the end
} weir__arena;

void weir__arena_initialize(weir__arena *arena, const weir__memory_source *source, uint64_t smallest, uint64_t largest);

// Has a chunk of this size made now, where making one later would take time that is not there then. False: no memory.
bool weir__arena_reserve(weir__arena *arena, uint64_t bytes);

// Returns all chunks, unless the arena leaves some.
void weir__arena_deinitialize(weir__arena *arena);

// The arena as a source. It must outlive the pool.
weir__memory_source weir__arena_source(weir__arena *arena);

#endif // WEIR_MEMORY_ARENA_H
