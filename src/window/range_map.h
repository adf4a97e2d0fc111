// SPDX-License-Identifier: Apache-2.0
//
// The segments of a buffer that is used by byte ranges: disjoint, ordered, together the whole buffer.
//
// A B+-tree on the first byte of each segment (Bayer and McCreight, 1972; leaves linked both ways). An access costs
// O(log segments + segments that it covers); one to a range that is a segment, as those of tiles are from their second use
// on, mostly costs no search (window/range_pool.h). Neighbours that nobody uses any more are joined: those that an access
// covers at once, the others by a sweep that does a little at every access while the pool has many segments in use. So
// their number stays in proportion to the ranges in use, but for WEIR__RANGE_KEPT, which stay for accesses to come.
//
// Not thread-safe: the window's lock guards it.
#ifndef WEIR_WINDOW_RANGE_MAP_H
#define WEIR_WINDOW_RANGE_MAP_H

#include "window/range_pool.h"

typedef struct weir__range_map {
  weir__range_pool *pool;
  weir__range_node *root;
  uint32_t height; // 0: the root is a leaf
  uint32_t accesses_until_sweep;
  uint64_t number; // no other map of the pool has, or had, this one
  uint64_t bytes;
  uint64_t sweep_from;
  size_t segment_count;
} weir__range_map;

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
