// SPDX-License-Identifier: Apache-2.0
#include "window/range_pool.h"

#include "base/allocate.h"

enum {
  FANOUT = WEIR__RANGE_FANOUT,
  MAX_HEIGHT = 16,
  SLAB_NODES = 32,
  SLAB_SEGMENTS = 512,
  NODES_PER_ACCESS = 2 * (MAX_HEIGHT + 1),
  SEGMENTS_PER_ACCESS = 3,
  LEAST_TABLE_BITS = 9,
  MOST_TABLE_BITS = 16,
};

struct weir__range_slab {
  struct weir__range_slab *next;
};

void weir__range_pool_initialize(weir__range_pool *pool) {
  *pool = (weir__range_pool){.kept = WEIR__RANGE_KEPT};
}

void weir__range_pool_deinitialize(weir__range_pool *pool) {
  weir__box_pool_deinitialize(&pool->boxes);
  weir__id_arrays_deinitialize(&pool->arrays);
  while (pool->slabs != NULL) {
    struct weir__range_slab *slab = pool->slabs;
    pool->slabs = slab->next;
    weir__free(slab);
  }
  weir__free(pool->table);
  *pool = (weir__range_pool){0};
}

static void *add_slab(weir__range_pool *pool, size_t bytes) {
  struct weir__range_slab *slab = weir__allocate(64 + bytes);
  if (slab == NULL) return NULL;
  slab->next = pool->slabs;
  pool->slabs = slab;
  return (char *)slab + 64;
}

// A node that is split is full: one that was there can be so at once, and any other after FANOUT / 2 entries more, of which an
// access brings two to leaves. A split takes one node, or two where it is the root's, and a new map one.
static size_t nodes_for(const weir__range_pool *pool, size_t accesses, size_t maps) {
  size_t each = accesses * NODES_PER_ACCESS, used = pool->node_count - pool->free_node_count;
  if (each <= pool->free_node_count) return each;
  size_t splits = used + 2 * accesses / (FANOUT / 2 - 1) + 1, together = 2 * splits + maps;
  return together < each ? together : each;
}

bool weir__range_pool_reserve(weir__range_pool *pool, size_t accesses) {
  return weir__range_pool_reserve_many(pool, accesses, accesses);
}

// Gives the table a place for each segment, within bounds. What was remembered is forgotten. Without memory all stays.
static void grow_table(weir__range_pool *pool) {
  uint32_t bits = LEAST_TABLE_BITS;
  while (bits < MOST_TABLE_BITS && (size_t)1 << bits < pool->segment_count) bits++;
  if (pool->table != NULL && bits == pool->table_bits) return;
  weir__range_memory *table = weir__allocate_zeroed(((size_t)1 << bits) * sizeof *table);
  if (table == NULL) return;
  weir__free(pool->table);
  pool->table = table;
  pool->table_bits = bits;
}

static bool add_segments(weir__range_pool *pool) {
  weir__range_segment *segments = add_slab(pool, SLAB_SEGMENTS * sizeof *segments);
  if (segments == NULL) return false;
  for (int i = 0; i < SLAB_SEGMENTS; i++) {
    weir__segment_initialize(&segments[i].segment);
    weir__range_pool_give_segment(pool, &segments[i]);
  }
  pool->segment_count += SLAB_SEGMENTS;
  grow_table(pool);
  return true;
}

bool weir__range_pool_reserve_many(weir__range_pool *pool, size_t accesses, size_t maps) {
  for (size_t needed = nodes_for(pool, accesses, maps); pool->free_node_count < needed;) {
    weir__range_node *nodes = add_slab(pool, SLAB_NODES * sizeof *nodes);
    if (nodes == NULL) return false;
    for (int i = 0; i < SLAB_NODES; i++) weir__range_pool_give_node(pool, &nodes[i]);
    pool->node_count += SLAB_NODES;
  }
  while (pool->free_segment_count < accesses * SEGMENTS_PER_ACCESS) {
    if (!add_segments(pool)) return false;
  }
  return true;
}
