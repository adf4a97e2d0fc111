// SPDX-License-Identifier: Apache-2.0
//
// Where box maps (window/box_map.h) take their nodes from, and the hash table in which all of them find a leaf by its
// first corner.
//
// Not thread-safe: the window's lock guards it.
#ifndef WEIR_WINDOW_BOX_POOL_H
#define WEIR_WINDOW_BOX_POOL_H

#include <stdalign.h>

#include "window/box.h"
#include "window/segment.h"

struct weir__box_map;

// A leaf has a segment; an inner node has two children and bounds both. Two lines of the cache.
typedef struct weir__box_node {
  alignas(64) weir__cell cell;
  struct weir__box_node *parent; // NULL: the root. Of a free node: the next one
  uint32_t height;               // 0: a leaf
  uint32_t stamp;                // of a leaf: of the submission that was prepared for it last
  union {
    struct {
      weir__segment segment;
      struct weir__box_node *next; // in its bucket
      struct weir__box_map *map;
    };
    struct weir__box_node *child[2];
  };
} weir__box_node;

typedef struct weir__box_pool {
  weir__box_node *free;
  size_t free_count;
  struct weir__box_slab *slabs;
  weir__box_node **buckets; // NULL: none yet
  size_t bucket_count;      // a power of two, or 0
  size_t leaf_count;        // of all maps
  size_t limit;             // more leaves than that are swept
  size_t sweep_from;        // bucket
  weir__box_node **found;   // scratch: room for all leaves
  size_t found_capacity;
  size_t map_count;
  uint32_t stamp; // of the submission that is being prepared; see weir__box_pool_begin
  weir__id_arrays arrays;
} weir__box_pool;

// A zeroed pool is empty. Frees everything; every map must have been deinitialized.
void weir__box_pool_deinitialize(weir__box_pool *pool);

// Makes sure that `count` nodes can be taken, and that there is room to find as many leaves more. False: no memory.
bool weir__box_pool_reserve(weir__box_pool *pool, size_t count);

weir__box_node *weir__box_pool_take(weir__box_pool *pool);
void weir__box_pool_give(weir__box_pool *pool, weir__box_node *node);

// Another submission is prepared: leaves that nobody uses may go from now on, and some do if there are very many.
void weir__box_pool_begin(weir__box_pool *pool, const weir__liveness *liveness);

void weir__box_pool_enter(weir__box_pool *pool, weir__box_node *leaf); // room was reserved
void weir__box_pool_remove(weir__box_pool *pool, weir__box_node *leaf);

static inline size_t weir__box_bucket(const weir__box_pool *pool, const struct weir__box_map *map,
                                      const weir__cell *cell) {
  uint64_t hash = ((uintptr_t)map >> 6) * 0x9e3779b97f4a7c15u;
  hash = (hash ^ cell->lo[WEIR__COLUMN]) * 0xff51afd7ed558ccdu;
  hash = (hash ^ (hash >> 32) ^ cell->lo[WEIR__ROW]) * 0xc4ceb9fe1a85ec53u;
  hash = (hash ^ (hash >> 29) ^ cell->lo[WEIR__SLICE]) * 0x9e3779b97f4a7c15u;
  return (hash >> 24) & (pool->bucket_count - 1);
}

// The leaf of a map that is exactly this cell; NULL: there is none. Leaves are disjoint, so it is then the only one that
// meets the cell.
static inline weir__box_node *weir__box_pool_find(const weir__box_pool *pool, const struct weir__box_map *map,
                                                  const weir__cell *cell) {
  if (pool->bucket_count == 0) return NULL;
  weir__box_node *leaf = pool->buckets[weir__box_bucket(pool, map, cell)];
  for (; leaf != NULL; leaf = leaf->next) {
    uint64_t differs = 0;
    for (int axis = 0; axis < WEIR__AXES; axis++)
      differs |= (leaf->cell.lo[axis] ^ cell->lo[axis]) | (leaf->cell.hi[axis] ^ cell->hi[axis]);
    if (leaf->map == map && differs == 0) return leaf;
  }
  return NULL;
}

#endif // WEIR_WINDOW_BOX_POOL_H
