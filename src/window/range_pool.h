// SPDX-License-Identifier: Apache-2.0
//
// Where range maps (window/range_map.h) take their nodes and segments from: shared by all maps of a window, and reused
// without limit.
//
// Programs come back to the same ranges: tiles, rows, parts of a state. So the pool remembers segments by map and first
// byte, in a table where each place holds the two segments that came to it last. An access to a range that is such a segment, or
// a few of them, needs no search.
//
// Not thread-safe: the window's lock guards it.
#ifndef WEIR_WINDOW_RANGE_POOL_H
#define WEIR_WINDOW_RANGE_POOL_H

#include <assert.h>

#include "window/box_pool.h"
#include "window/segment.h"

enum {
  WEIR__RANGE_FANOUT = 32,
  WEIR__RANGE_KEPT = 1 << 16, // segments in use, below which those that nobody uses are not looked for
};

typedef struct weir__range_segment {
  weir__segment segment;
  union {
    uint64_t lo;                           // stays what it is while the segment is in use
    struct weir__range_segment *next_free; // of one that is not
  };
  uint64_t hi;
} weir__range_segment;

static_assert(sizeof(weir__range_segment) == 64, "a segment is one line of the cache");

typedef struct weir__range_node {
  uint32_t count;
  struct weir__range_node *next, *previous; // of leaves; `next` also links free nodes
  uint64_t key[WEIR__RANGE_FANOUT];
  void *child[WEIR__RANGE_FANOUT]; // nodes, or segments in a leaf
} weir__range_node;

// A place of the table.
typedef struct weir__range_memory {
  struct {
    uint64_t map; // its number
    weir__range_segment *segment;
  } last, before;
} weir__range_memory;

typedef struct weir__range_pool {
  weir__range_node *free_nodes;
  weir__range_segment *free_segments;
  size_t node_count, segment_count; // free or not
  size_t free_node_count, free_segment_count;
  size_t kept; // WEIR__RANGE_KEPT, or less in tests
  struct weir__range_slab *slabs;
  weir__range_memory *table; // NULL: nothing is remembered
  uint32_t table_bits;       // it has so many places, as a power of two
  uint64_t maps;             // so far; numbers them
  weir__id_arrays arrays;    // for the readers of segments
  weir__box_pool boxes;      // for buffers that are used by boxes
} weir__range_pool;

void weir__range_pool_initialize(weir__range_pool *pool);

// Frees everything; every map must have been deinitialized.
void weir__range_pool_deinitialize(weir__range_pool *pool);

// Makes sure that `accesses` accesses to maps cannot run out of nodes and segments. False: no memory.
bool weir__range_pool_reserve(weir__range_pool *pool, size_t accesses);

// The same for accesses to so many maps alone.
bool weir__range_pool_reserve_many(weir__range_pool *pool, size_t accesses, size_t maps);

// Whether segments that nobody uses are to be looked for.
static inline bool weir__range_pool_is_crowded(const weir__range_pool *pool) {
  return pool->segment_count - pool->free_segment_count > pool->kept;
}

static inline weir__range_memory *weir__range_pool_place(const weir__range_pool *pool, uint64_t map, uint64_t lo) {
  return &pool->table[((lo ^ map << 40) * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - pool->table_bits)];
}

// The segment of the map that begins at `lo`, if it is remembered; else NULL.
static inline weir__range_segment *weir__range_pool_recall(const weir__range_pool *pool, uint64_t map, uint64_t lo) {
  if (pool->table == NULL) return NULL;
  const weir__range_memory *place = weir__range_pool_place(pool, map, lo);
  if (place->last.map == map && place->last.segment->lo == lo) return place->last.segment;
  return place->before.map == map && place->before.segment->lo == lo ? place->before.segment : NULL;
}

static inline void weir__range_pool_remember(const weir__range_pool *pool, uint64_t map, weir__range_segment *segment) {
  if (pool->table == NULL) return;
  weir__range_memory *place = weir__range_pool_place(pool, map, segment->lo);
  if (place->last.segment != segment) place->before = place->last;
  place->last.map = map;
  place->last.segment = segment;
}

// Takes one of those that were reserved.
static inline weir__range_node *weir__range_pool_take_node(weir__range_pool *pool) {
  weir__range_node *node = pool->free_nodes;
  pool->free_nodes = node->next;
  pool->free_node_count--;
  node->count = 0;
  node->next = node->previous = NULL;
  return node;
}

static inline void weir__range_pool_give_node(weir__range_pool *pool, weir__range_node *node) {
  node->next = pool->free_nodes;
  pool->free_nodes = node;
  pool->free_node_count++;
}

// The same for a segment, without users; its bounds are not set.
static inline weir__range_segment *weir__range_pool_take_segment(weir__range_pool *pool) {
  weir__range_segment *segment = pool->free_segments;
  pool->free_segments = segment->next_free;
  pool->free_segment_count--;
  return segment;
}

// Takes back a segment of a map that is gone, or one that was not part of a map.
static inline void weir__range_pool_give_segment(weir__range_pool *pool, weir__range_segment *segment) {
  weir__segment_empty(&segment->segment, &pool->arrays);
  segment->next_free = pool->free_segments;
  pool->free_segments = segment;
  pool->free_segment_count++;
}

// Takes back a segment of a map that stays.
static inline void weir__range_pool_forget(weir__range_pool *pool, uint64_t map, weir__range_segment *segment) {
  weir__range_memory *place = pool->table == NULL ? NULL : weir__range_pool_place(pool, map, segment->lo);
  if (place != NULL && place->last.segment == segment) place->last.map = 0;
  if (place != NULL && place->before.segment == segment) place->before.map = 0;
  weir__range_pool_give_segment(pool, segment);
}

#endif // WEIR_WINDOW_RANGE_POOL_H
