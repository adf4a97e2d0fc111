// SPDX-License-Identifier: Apache-2.0
#include "memory/arena.h"

#include "base/allocate.h"

struct weir__arena_chunk {
  struct weir__arena_chunk *next;
  char *memory;
  uint64_t bytes, used, blocks;
  bool single; // made for one block
};

void weir__arena_initialize(weir__arena *arena, const weir__memory_source *source, uint64_t smallest,
                            uint64_t largest) {
  *arena = (weir__arena){.source = *source, .chunk_bytes = smallest, .largest = largest};
}

void weir__arena_deinitialize(weir__arena *arena) {
  while (arena->chunks != NULL) {
    struct weir__arena_chunk *chunk = arena->chunks;
    arena->chunks = chunk->next;
    if (!arena->leaves) arena->source.free(arena->source.user, chunk->memory);
    weir__free(chunk);
  }
}

// Returns chunks without blocks. False: there were none.
static bool return_unused(weir__arena *arena) {
  bool any = false;
  for (struct weir__arena_chunk **link = &arena->chunks; *link != NULL;) {
    struct weir__arena_chunk *chunk = *link;
    if (chunk->blocks > 0) {
      link = &chunk->next;
      continue;
    }
    *link = chunk->next;
    arena->source.free(arena->source.user, chunk->memory);
    weir__free(chunk);
    any = true;
  }
  return any;
}

static struct weir__arena_chunk *add_chunk(weir__arena *arena, uint64_t bytes, bool single) {
  struct weir__arena_chunk *chunk = weir__allocate(sizeof *chunk);
  if (chunk == NULL) return NULL;
  chunk->memory = arena->source.allocate(arena->source.user, bytes);
  if (chunk->memory == NULL && single && return_unused(arena))
    chunk->memory = arena->source.allocate(arena->source.user, bytes);
  *chunk = (struct weir__arena_chunk){.bytes = bytes, .single = single, .next = arena->chunks, .memory = chunk->memory};
  if (chunk->memory == NULL) {
    weir__free(chunk);
    return NULL;
  }
  arena->chunks = chunk;
  return chunk;
}

bool weir__arena_reserve(weir__arena *arena, uint64_t bytes) {
  return add_chunk(arena, bytes, false) != NULL;
}

// A chunk with room, or a new one; near the end of memory one that is just large enough.
static struct weir__arena_chunk *find_chunk(weir__arena *arena, uint64_t bytes) {
  for (struct weir__arena_chunk *chunk = arena->chunks; chunk != NULL; chunk = chunk->next) {
    if (!chunk->single && chunk->bytes - chunk->used >= bytes) return chunk;
  }
  if (bytes > arena->chunk_bytes / 4) return add_chunk(arena, bytes, true);
  struct weir__arena_chunk *chunk = add_chunk(arena, arena->chunk_bytes, false);
  if (chunk == NULL) return add_chunk(arena, bytes, true);
  if (arena->chunk_bytes < arena->largest) arena->chunk_bytes *= 2;
  return chunk;
}

static void *allocate(void *user, uint64_t bytes) {
  weir__arena *arena = user;
  bytes = (bytes + WEIR__ARENA_ALIGNMENT - 1) & ~(uint64_t)(WEIR__ARENA_ALIGNMENT - 1);
  struct weir__arena_chunk *chunk = find_chunk(arena, bytes);
  if (chunk == NULL) return NULL;
  void *memory = chunk->memory + chunk->used;
  chunk->used += bytes;
  chunk->blocks++;
  return memory;
}

static void release(void *user, void *memory) {
  weir__arena *arena = user;
  struct weir__arena_chunk **link = &arena->chunks;
  while ((char *)memory < (*link)->memory || (char *)memory >= (*link)->memory + (*link)->bytes) link = &(*link)->next;
  struct weir__arena_chunk *chunk = *link;
  if (--chunk->blocks > 0) return;
  chunk->used = 0;
  if (!chunk->single) return;
  *link = chunk->next;
  arena->source.free(arena->source.user, chunk->memory);
  weir__free(chunk);
}

static void leave(void *user) {
  weir__arena *arena = user;
  arena->leaves = true;
}

weir__memory_source weir__arena_source(weir__arena *arena) {
  return (weir__memory_source){.allocate = allocate, .free = release, .user = arena, .leave = leave};
}
