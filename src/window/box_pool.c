// SPDX-License-Identifier: Apache-2.0
#include "window/box_pool.h"

#include <string.h>

#include "base/allocate.h"
#include "window/box_map.h"

enum { SLAB_NODES = 127, FIRST_BUCKETS = 256, FEWEST_SWEPT = 8192, SWEEP_BUCKETS = 16 };

struct weir__box_slab {
  struct weir__box_slab *next;
};

void weir__box_pool_deinitialize(weir__box_pool *pool) {
  weir__id_arrays_deinitialize(&pool->arrays);
  while (pool->slabs != NULL) {
    struct weir__box_slab *slab = pool->slabs;
    pool->slabs = slab->next;
    weir__free(slab);
  }
  weir__free(pool->buckets);
  weir__free(pool->found);
  *pool = (weir__box_pool){0};
}

static bool add_slab(weir__box_pool *pool) {
  // One node more than there are, to align them.
  struct weir__box_slab *slab = weir__allocate((SLAB_NODES + 1) * sizeof(weir__box_node) + sizeof *slab);
  if (slab == NULL) return false;
  slab->next = pool->slabs;
  pool->slabs = slab;
  uintptr_t first = ((uintptr_t)(slab + 1) + alignof(weir__box_node) - 1) & ~(uintptr_t)(alignof(weir__box_node) - 1);
  weir__box_node *nodes = (weir__box_node *)first;
  for (int i = 0; i < SLAB_NODES; i++) {
    nodes[i].parent = pool->free;
    pool->free = &nodes[i];
  }
  pool->free_count += SLAB_NODES;
  return true;
}

static bool grow_found(weir__box_pool *pool, size_t needed) {
  size_t capacity = pool->found_capacity == 0 ? FIRST_BUCKETS : pool->found_capacity;
  while (capacity < needed) capacity *= 2;
  weir__box_node **larger = weir__allocate(capacity * sizeof(weir__box_node *));
  if (larger == NULL) return false;
  weir__free(pool->found); // nobody looks at what was found when room is made
  pool->found = larger;
  pool->found_capacity = capacity;
  return true;
}

static bool grow_buckets(weir__box_pool *pool) {
  size_t count = pool->bucket_count == 0 ? FIRST_BUCKETS : 2 * pool->bucket_count, old_count = pool->bucket_count;
  weir__box_node **old = pool->buckets, **larger = weir__allocate_zeroed(count * sizeof(weir__box_node *));
  if (larger == NULL) return false;
  pool->buckets = larger;
  pool->bucket_count = count;
  pool->sweep_from = 0;
  for (size_t i = 0; i < old_count; i++) {
    for (weir__box_node *leaf = old[i], *next; leaf != NULL; leaf = next) {
      next = leaf->next;
      size_t bucket = weir__box_bucket(pool, leaf->map, &leaf->cell);
      leaf->next = larger[bucket];
      larger[bucket] = leaf;
    }
  }
  weir__free(old);
  return true;
}

bool weir__box_pool_reserve(weir__box_pool *pool, size_t count) {
  while (pool->free_count < count) {
    if (!add_slab(pool)) return false;
  }
  size_t leaves = pool->leaf_count + count;
  if (leaves > pool->found_capacity && !grow_found(pool, leaves)) return false;
  // A full table works, only slower.
  return pool->leaf_count < pool->bucket_count || grow_buckets(pool) || pool->bucket_count > 0;
}

weir__box_node *weir__box_pool_take(weir__box_pool *pool) {
  weir__box_node *node = pool->free;
  pool->free = node->parent;
  pool->free_count--;
  return node;
}

void weir__box_pool_give(weir__box_pool *pool, weir__box_node *node) {
  node->parent = pool->free;
  pool->free = node;
  pool->free_count++;
}

void weir__box_pool_enter(weir__box_pool *pool, weir__box_node *leaf) {
  size_t bucket = weir__box_bucket(pool, leaf->map, &leaf->cell);
  leaf->next = pool->buckets[bucket];
  pool->buckets[bucket] = leaf;
  pool->leaf_count++;
}

void weir__box_pool_remove(weir__box_pool *pool, weir__box_node *leaf) {
  weir__box_node **link = &pool->buckets[weir__box_bucket(pool, leaf->map, &leaf->cell)];
  while (*link != leaf) link = &(*link)->next;
  *link = leaf->next;
  pool->leaf_count--;
}

// Drops leaves of some buckets, in turn, that nobody uses any more. After each round through all buckets there may be twice
// as many leaves as were in use, so that those of boxes that come again are not lost and made again all the time.
static void sweep(weir__box_pool *pool, const weir__liveness *liveness) {
  for (int i = 0; i < SWEEP_BUCKETS; i++) {
    for (weir__box_node *leaf = pool->buckets[pool->sweep_from], *next; leaf != NULL; leaf = next) {
      next = leaf->next;
      if (!leaf->segment.poisoned && weir__segment_idle(&leaf->segment, liveness)) weir__box_map_drop(leaf->map, leaf);
    }
    if (++pool->sweep_from < pool->bucket_count) continue;
    pool->sweep_from = 0;
    pool->limit = 2 * pool->leaf_count > FEWEST_SWEPT ? 2 * pool->leaf_count : FEWEST_SWEPT;
  }
}

void weir__box_pool_begin(weir__box_pool *pool, const weir__liveness *liveness) {
  pool->stamp++;
  if (pool->limit == 0) pool->limit = FEWEST_SWEPT;
  if (pool->leaf_count > pool->limit) sweep(pool, liveness);
}
