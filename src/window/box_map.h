// SPDX-License-Identifier: Apache-2.0
//
// The users of a buffer that is accessed by boxes: disjoint cells of the buffer's present layout (window/box.h), each with
// a segment. What no leaf covers has no users and no poison.
//
// DESIGN. Programs with strided accesses use the same boxes again and again: the tiles of a matrix. So a box is looked up in
// a hash table first, by its first corner, in O(1); leaves are disjoint, so a leaf that is exactly the box is all that there
// is to look at. Only other accesses ask a tree of bounding cells (a dynamic bounding volume hierarchy: inserted where the
// bounds grow least, balanced by rotations; Catto, "Dynamic Bounding Volume Hierarchies", 2019, after Goldsmith and Salmon,
// 1987) which leaves they meet, in O(log leaves + leaves met). A leaf that is met in part is cut at the edges of the
// access. A write makes one leaf of all that it covers. Leaves without users are dropped when they are met, and by
// a sweep if there are very many.
//
// Rejected: a k-d tree of the whole buffer (tiles that come in order make it a list, and each cut goes through all
// that is behind it); columns of row trees, from sorted cuts (a box of other columns cuts every tree that it meets, so n
// boxes make n^2 leaves, and a volume needs an entry a slice).
//
// Accesses are prepared before a submission changes anything: that cuts and makes all leaves that they need, and can fail,
// and changes nothing that anybody could see. Then the accesses themselves need no memory, but for lists of readers.
//
// Boxes of other pitches than the layout's are exact, too: each of their rows is some cells. If nobody uses the buffer, it
// takes their layout.
//
// Not thread-safe: the window's lock guards it.
#ifndef WEIR_WINDOW_BOX_MAP_H
#define WEIR_WINDOW_BOX_MAP_H

#include "weir/weir.h"
#include "window/box_pool.h"

typedef struct weir__box_map {
  weir__box_pool *pool;
  weir__box_node *root; // NULL: no leaves
  weir__box_layout layout;
  double scale[WEIR__AXES]; // 1 / the length of the axis
} weir__box_map;

// A map without users, in the layout of `box`, a box in plain form.
void weir__box_map_initialize(weir__box_map *map, weir__box_pool *pool, uint64_t bytes, const weir_box *box);
void weir__box_map_deinitialize(weir__box_map *map);

// In what follows, bytes are a range [lo, hi), or if `box` is not NULL a box in plain form that begins at `lo`.

// Gives bytes that nobody uses so far a copy of these users. False: no memory; some of the bytes have them.
bool weir__box_map_add(weir__box_map *map, uint64_t lo, uint64_t hi, const weir_box *box, const weir__segment *users);

// Makes all leaves that an access needs. weir__box_pool_begin comes before all that are prepared together; until the next
// one they stay. False: no memory, and nothing that matters has changed.
bool weir__box_map_prepare(weir__box_map *map, const weir__liveness *liveness, uint64_t lo, uint64_t hi,
                           const weir_box *box);

// Record an access that was prepared, as weir__segment_read and _write do.
void weir__box_map_read(weir__box_map *map, const weir__liveness *liveness, weir__id task, uint64_t lo, uint64_t hi,
                        const weir_box *box, weir__dependences *dependences);
void weir__box_map_write(weir__box_map *map, const weir__liveness *liveness, weir__id task, bool reads, uint64_t lo,
                         uint64_t hi, const weir_box *box, weir__dependences *dependences);

// The same for a write of all bytes, after which the map is of no more use.
void weir__box_map_write_all(weir__box_map *map, const weir__liveness *liveness, weir__id task, bool reads,
                             weir__dependences *dependences);

// Poisons what `task` was the last to write in these bytes.
void weir__box_map_poison(weir__box_map *map, weir__id task, uint64_t lo, uint64_t hi, const weir_box *box);

// Whether no task in flight uses any part.
bool weir__box_map_idle(weir__box_map *map, const weir__liveness *liveness);

// Takes the layout of `box` if nobody uses the buffer, nothing is poisoned, and no access is prepared.
void weir__box_map_take_layout(weir__box_map *map, const weir__liveness *liveness, const weir_box *box);

// Calls `visit` once for each leaf that these bytes meet, with the range from the leaf's first to its last byte in them. It may
// change the segment, not the map. A leaf may be met again where the bytes are several cells.
void weir__box_map_visit(const weir__box_map *map, uint64_t lo, uint64_t hi, const weir_box *box,
                         void (*visit)(void *user, uint64_t lo, uint64_t hi, weir__segment *segment), void *user);

// Removes a leaf, with its users.
void weir__box_map_drop(weir__box_map *map, weir__box_node *leaf);

#endif // WEIR_WINDOW_BOX_MAP_H
