// SPDX-License-Identifier: Apache-2.0
//
// The segments of a buffer that is used by byte ranges: disjoint, ordered, together the whole buffer.
//
// A B+-tree on the first byte of each segment (Bayer and McCreight, 1972; leaves linked both ways). An access costs
// O(log segments + segments that it covers). Neighbours that nobody uses any more are joined: those that an access
// covers at once, the others by a sweep that does a little at every access, so that the number of segments stays in
// proportion to the ranges in use.
//
// Not thread-safe: the window's lock guards it.
#ifndef WEIR_WINDOW_RANGE_MAP_H
#define WEIR_WINDOW_RANGE_MAP_H

#include "window/box_pool.h"
#include "window/segment.h"

enum { WEIR__RANGE_FANOUT = 32 };

typedef struct weir__range_node weir__range_node;

// Where maps take their nodes and segments from, shared by all maps of a window; reused without limit.
typedef struct weir__range_pool {
  weir__range_node *free_nodes;
  struct weir__range_segment *free_segments;
  size_t node_count; // free or not
  size_t free_node_count, free_segment_count;
  struct weir__range_slab *slabs;
  weir__id_arrays arrays; // for the readers of segments
  weir__box_pool boxes;   // for buffers that are used by boxes
} weir__range_pool;

typedef struct weir__range_map {
  weir__range_pool *pool;
  weir__range_node *root;
  uint32_t height; // 0: the root is a leaf
  uint32_t accesses_until_sweep;
  uint64_t bytes;
  uint64_t sweep_from;
  size_t segment_count;
} weir__range_map;

void weir__range_pool_initialize(weir__range_pool *pool);

// Frees everything; every map must have been deinitialized.
void weir__range_pool_deinitialize(weir__range_pool *pool);

// Makes sure that `accesses` accesses to maps cannot run out of nodes and segments. False: no memory.
bool weir__range_pool_reserve(weir__range_pool *pool, size_t accesses);

// The same for accesses to so many maps alone.
bool weir__range_pool_reserve_many(weir__range_pool *pool, size_t accesses, size_t maps);

// A map of one segment, which takes over the users of `whole` (left without users). Needs a reserve of one access.
void weir__range_map_initialize(weir__range_map *map, weir__range_pool *pool, uint64_t bytes, weir__segment *whole);
void weir__range_map_deinitialize(weir__range_map *map);

// Records an access of `task` to [lo, hi), lo < hi <= bytes, as weir__segment_read, _commute and _write do. Needs a reserve of
// one access.
void weir__range_map_read(weir__range_map *map, const weir__liveness *liveness, weir__id task, uint64_t lo, uint64_t hi,
                          weir__dependences *dependences);
void weir__range_map_commute(weir__range_map *map, const weir__liveness *liveness, weir__id task, uint64_t lo,
                             uint64_t hi, weir__dependences *dependences);
void weir__range_map_write(weir__range_map *map, const weir__liveness *liveness, weir__id task, bool reads, uint64_t lo,
                           uint64_t hi, weir__dependences *dependences);

// Poisons what is by `task` in [lo, hi): it was the last to write there, or one of the last that commuted.
// Where memory is short it poisons more: whole segments.
void weir__range_map_poison(weir__range_map *map, weir__id task, uint64_t lo, uint64_t hi, uint32_t failure);

// Whether no task in flight uses any part.
bool weir__range_map_idle(weir__range_map *map, const weir__liveness *liveness);

// Calls `visit` for the part of each segment that is in [lo, hi), in order. It may change the segment, not the map.
void weir__range_map_visit_range(const weir__range_map *map, uint64_t lo, uint64_t hi,
                                 void (*visit)(void *user, uint64_t lo, uint64_t hi, weir__segment *segment),
                                 void *user);

// Calls `visit` for each segment in order; for tests.
void weir__range_map_visit(const weir__range_map *map,
                           void (*visit)(void *user, uint64_t lo, uint64_t hi, const weir__segment *segment),
                           void *user);

#endif // WEIR_WINDOW_RANGE_MAP_H
