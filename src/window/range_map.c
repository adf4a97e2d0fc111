// SPDX-License-Identifier: Apache-2.0
//
// DESIGN. Inner nodes hold lower bounds: key[i] is at most the first key below child[i], and key[0] of the leftmost path
// is never looked at. Removing the first entry of a leaf leaves its bound as it is; a search that lands before the
// first entry of a leaf steps back to the leaf before. Nodes are joined with their right neighbour when both are nearly
// empty; stricter balancing would buy nothing, since accesses refill what they empty.
#include "window/range_map.h"

#include <string.h>

enum { FANOUT = WEIR__RANGE_FANOUT, MAX_HEIGHT = 16, FEW_SEGMENTS = 4, SWEEP_EVERY = 16, SWEEP_STEPS = 96 };

typedef struct path {
  weir__range_node *node[MAX_HEIGHT + 1]; // from the root (level `height`) to the leaf (level 0)
  uint32_t index[MAX_HEIGHT + 1];
} path;

typedef struct place {
  weir__range_node *leaf;
  uint32_t index;
} place;

static weir__range_segment *found_at(place at) {
  return at.leaf->child[at.index];
}

static weir__segment *segment_at(place at) {
  return &found_at(at)->segment;
}

// Index of the last key that is at most `key`, or -1. The node has a key. Halving has no branch that depends on keys.
static int floor_index(const weir__range_node *node, uint64_t key) {
  const uint64_t *first = node->key;
  for (uint32_t count = node->count; count > 1;) {
    uint32_t half = count / 2;
    first = first[half] <= key ? first + half : first;
    count -= half;
  }
  return (int)(first - node->key) - (*first > key);
}

// Walks down to the leaf whose bounds hold `key`. Always inline: only then does gcc see that all of `way` that is read was
// written, and gcc 12 miscompiles callers that initialize it.
static inline __attribute__((always_inline)) weir__range_node *descend(const weir__range_map *map, uint64_t key,
                                                                       path *way) {
  weir__range_node *node = map->root;
  for (uint32_t level = map->height; level > 0; level--) {
    int index = floor_index(node, key);
    if (index < 0) index = 0;
    way->node[level] = node;
    way->index[level] = (uint32_t)index;
    node = node->child[index];
  }
  way->node[0] = node;
  return node;
}

// The segment that holds byte `key`.
static place find(const weir__range_map *map, uint64_t key) {
  path way;
  weir__range_node *leaf = descend(map, key, &way);
  int index = floor_index(leaf, key);
  if (index >= 0) return (place){leaf, (uint32_t)index};
  return (place){leaf->previous, leaf->previous->count - 1};
}

static bool next_place(place *at) {
  if (at->index + 1 < at->leaf->count) {
    at->index++;
    return true;
  }
  if (at->leaf->next == NULL) return false;
  *at = (place){at->leaf->next, 0};
  return true;
}

static void insert_into(weir__range_node *node, uint32_t index, uint64_t key, void *child) {
  memmove(&node->key[index + 1], &node->key[index], (node->count - index) * sizeof node->key[0]);
  memmove(&node->child[index + 1], &node->child[index], (node->count - index) * sizeof node->child[0]);
  node->key[index] = key;
  node->child[index] = child;
  node->count++;
}

static void remove_from(weir__range_node *node, uint32_t index) {
  node->count--;
  memmove(&node->key[index], &node->key[index + 1], (node->count - index) * sizeof node->key[0]);
  memmove(&node->child[index], &node->child[index + 1], (node->count - index) * sizeof node->child[0]);
}

// Moves the upper half of a full node to a new one, which it returns.
static weir__range_node *split(weir__range_map *map, weir__range_node *node, bool leaf) {
  weir__range_node *right = weir__range_pool_take_node(map->pool);
  uint32_t half = FANOUT / 2;
  right->count = FANOUT - half;
  memcpy(right->key, &node->key[half], right->count * sizeof node->key[0]);
  memcpy(right->child, &node->child[half], right->count * sizeof node->child[0]);
  node->count = half;
  if (leaf) {
    right->previous = node;
    right->next = node->next;
    if (node->next != NULL) node->next->previous = right;
    node->next = right;
  }
  return right;
}

// Inserts at `index` of the leaf that `way` leads to. Returns whether there was room in it; else nodes were split. Always inline
// for the same reason.
static inline __attribute__((always_inline)) bool insert_on(weir__range_map *map, const path *way, uint32_t index,
                                                            uint64_t key, void *child) {
  weir__range_node *node = way->node[0];
  map->segment_count++;
  for (uint32_t level = 0;; level++) {
    if (node->count < FANOUT) {
      insert_into(node, index, key, child);
      return level == 0;
    }
    weir__range_node *right = split(map, node, level == 0);
    uint64_t right_key = right->key[0];
    if (index <= node->count)
      insert_into(node, index, key, child);
    else
      insert_into(right, index - node->count, key, child);
    key = right_key;
    child = right;
    if (level == map->height) {
      weir__range_node *root = weir__range_pool_take_node(map->pool);
      insert_into(root, 0, 0, node);
      insert_into(root, 1, key, child);
      map->root = root;
      map->height++;
      return false;
    }
    node = way->node[level + 1];
    index = way->index[level + 1] + 1;
  }
}

static void unlink_leaf(weir__range_node *leaf) {
  if (leaf->previous != NULL) leaf->previous->next = leaf->next;
  if (leaf->next != NULL) leaf->next->previous = leaf->previous;
}

// Joins child `index` of `parent` with the one after it, if both are nearly empty. True: they were joined.
static bool join_children(weir__range_map *map, weir__range_node *parent, uint32_t index, bool leaves) {
  if (index + 1 >= parent->count) return false;
  weir__range_node *left = parent->child[index], *right = parent->child[index + 1];
  if (left->count + right->count > FANOUT / 2) return false;
  memcpy(&left->key[left->count], right->key, right->count * sizeof left->key[0]);
  memcpy(&left->child[left->count], right->child, right->count * sizeof left->child[0]);
  // The bound of the right node's first child is the right node's own.
  if (!leaves && right->count > 0) left->key[left->count] = parent->key[index + 1];
  left->count += right->count;
  if (leaves) unlink_leaf(right);
  weir__range_pool_give_node(map->pool, right);
  remove_from(parent, index + 1);
  return true;
}

// Removes the segment that starts at `key`, which is not the first of the map.
static void remove_segment(weir__range_map *map, uint64_t key) {
  path way;
  weir__range_node *node = descend(map, key, &way);
  uint32_t index = (uint32_t)floor_index(node, key);
  weir__range_pool_forget(map->pool, map->number, node->child[index]);
  remove_from(node, index);
  map->segment_count--;
  for (uint32_t level = 0; level < map->height && node->count < FANOUT / 4; level++) {
    weir__range_node *parent = way.node[level + 1];
    uint32_t at = way.index[level + 1];
    if (node->count == 0) {
      if (level == 0) unlink_leaf(node);
      weir__range_pool_give_node(map->pool, node);
      remove_from(parent, at);
    } else if (!join_children(map, parent, at, level == 0)) {
      if (at == 0 || !join_children(map, parent, at - 1, level == 0)) break;
    }
    node = parent;
  }
  while (map->height > 0 && map->root->count == 1) {
    weir__range_node *old = map->root;
    map->root = old->child[0];
    map->height--;
    weir__range_pool_give_node(map->pool, old);
  }
}

void weir__range_map_initialize(weir__range_map *map, weir__range_pool *pool, uint64_t bytes, weir__segment *whole) {
  *map = (weir__range_map){
      .pool = pool, .number = ++pool->maps, .bytes = bytes, .accesses_until_sweep = SWEEP_EVERY, .segment_count = 1};
  weir__range_segment *segment = weir__range_pool_take_segment(pool);
  weir__segment users = *whole;
  *whole = segment->segment;
  *segment = (weir__range_segment){.segment = users, .lo = 0, .hi = bytes};
  map->root = weir__range_pool_take_node(pool);
  insert_into(map->root, 0, 0, segment);
}

static void free_tree(weir__range_map *map, weir__range_node *node, uint32_t level) {
  for (uint32_t i = 0; i < node->count; i++) {
    if (level == 0)
      weir__range_pool_give_segment(map->pool, node->child[i]);
    else
      free_tree(map, node->child[i], level - 1);
  }
  weir__range_pool_give_node(map->pool, node);
}

void weir__range_map_deinitialize(weir__range_map *map) {
  free_tree(map, map->root, map->height);
  *map = (weir__range_map){0};
}

// Takes the bytes from `at` on off a segment. Returns them as one with the same users, which is not in the tree yet. A copy of
// users that does not fit in memory is reported by marking the dependences.
static weir__range_segment *cut(const weir__range_map *map, weir__range_segment *segment, uint64_t at,
                                weir__dependences *dependences) {
  weir__range_segment *copy = weir__range_pool_take_segment(map->pool);
  if (!weir__segment_copy(&copy->segment, &segment->segment, &map->pool->arrays)) dependences->incomplete = true;
  copy->lo = at;
  copy->hi = segment->hi;
  segment->hi = at;
  weir__range_pool_remember(map->pool, map->number, copy);
  return copy;
}

// Makes a segment start at `lo`, a byte of the map. Returns where it is.
static place begin_at(weir__range_map *map, uint64_t lo, weir__dependences *dependences) {
  path way;
  weir__range_node *leaf = descend(map, lo, &way);
  int index = floor_index(leaf, lo);
  place at = index >= 0 ? (place){leaf, (uint32_t)index} : (place){leaf->previous, leaf->previous->count - 1};
  if (found_at(at)->lo == lo) return at;
  bool fits = insert_on(map, &way, (uint32_t)(index + 1), lo, cut(map, found_at(at), lo, dependences));
  return fits ? (place){leaf, (uint32_t)(index + 1)} : find(map, lo);
}

// Makes a segment end at `hi`, which is behind the first byte of the one at `at`. Returns where that one is then.
static place end_at(weir__range_map *map, place at, uint64_t hi, weir__dependences *dependences) {
  weir__range_segment *segment = found_at(at);
  if (segment->hi == hi || hi == map->bytes) return at;
  // Not behind the last entry of a leaf, since the next leaf's bound may be below `hi`.
  bool inside = at.index + 1 < at.leaf->count || at.leaf->next == NULL;
  if (segment->hi > hi && inside && at.leaf->count < FANOUT) {
    insert_into(at.leaf, at.index + 1, hi, cut(map, segment, hi, dependences));
    map->segment_count++;
    return at;
  }
  (void)begin_at(map, hi, dependences);
  return find(map, segment->lo);
}

// Removes the segment behind the one at `at`, which gets its bytes. Returns where that one is then.
static place remove_next(weir__range_map *map, place at) {
  place after = at;
  next_place(&after);
  weir__range_segment *segment = found_at(at), *next = found_at(after);
  segment->hi = next->hi;
  if (after.leaf != at.leaf || (map->height > 0 && at.leaf->count <= FANOUT / 4)) {
    remove_segment(map, next->lo);
    return find(map, segment->lo);
  }
  weir__range_pool_forget(map->pool, map->number, next);
  remove_from(at.leaf, after.index);
  map->segment_count--;
  return at;
}

// Joins the segment after `*at` to the one at `*at` if nobody uses either. False: not joined (or there is none).
static bool join_next(weir__range_map *map, const weir__liveness *liveness, place *at) {
  place after = *at;
  if (!next_place(&after)) return false;
  weir__segment *segment = segment_at(*at), *next = segment_at(after);
  if (segment->poisoned != next->poisoned) return false;
  if (!weir__segment_idle(segment, liveness) || !weir__segment_idle(next, liveness)) return false;
  *at = remove_next(map, *at);
  return true;
}

// Looks at some segments, in turn over the accesses, and joins neighbours that nobody uses.
static void sweep(weir__range_map *map, const weir__liveness *liveness) {
  if (--map->accesses_until_sweep > 0) return;
  map->accesses_until_sweep = SWEEP_EVERY;
  place at = find(map, map->sweep_from);
  for (int step = 0; step < SWEEP_STEPS; step++) {
    map->sweep_from = found_at(at)->lo;
    if (join_next(map, liveness, &at)) continue;
    if (!next_place(&at)) {
      map->sweep_from = 0;
      return;
    }
  }
}

// What each access begins with.
static inline void begin(weir__range_map *map, const weir__liveness *liveness, weir__dependences *dependences) {
  dependences->arrays = &map->pool->arrays;
  if (__builtin_expect(weir__range_pool_is_crowded(map->pool), false)) sweep(map, liveness);
}

// The segments that are together [lo, hi), where the pool remembers them and they are few. Returns how many; 0: it is not so.
static inline uint32_t recall(const weir__range_map *map, uint64_t lo, uint64_t hi,
                              weir__range_segment **out_segments) {
  for (uint32_t count = 0; count < FEW_SEGMENTS;) {
    weir__range_segment *segment = weir__range_pool_recall(map->pool, map->number, lo);
    if (segment == NULL || segment->hi > hi) return 0;
    out_segments[count++] = segment;
    if (segment->hi == hi) return count;
    lo = segment->hi;
  }
  return 0;
}

// Records an access after which all segments stay what they were.
static inline __attribute__((always_inline)) void
share(weir__range_map *map, const weir__liveness *liveness, weir__id task, uint64_t lo, uint64_t hi,
      weir__dependences *dependences,
      void (*record)(weir__segment *segment, const weir__liveness *liveness, weir__id task, uint64_t lo, uint64_t hi,
                     weir__dependences *dependences)) {
  weir__range_segment *known[FEW_SEGMENTS];
  begin(map, liveness, dependences);
  uint32_t count = recall(map, lo, hi, known);
  for (uint32_t i = 0; i < count; i++)
    record(&known[i]->segment, liveness, task, known[i]->lo, known[i]->hi, dependences);
  if (count > 0) return;
  place at = end_at(map, begin_at(map, lo, dependences), hi, dependences);
  for (;;) {
    while (found_at(at)->hi < hi && join_next(map, liveness, &at)) continue;
    weir__range_segment *found = found_at(at);
    record(&found->segment, liveness, task, found->lo, found->hi, dependences);
    if (found->hi >= hi) break;
    next_place(&at);
  }
  if (found_at(at)->lo == lo) weir__range_pool_remember(map->pool, map->number, found_at(at));
}

void weir__range_map_read(weir__range_map *map, const weir__liveness *liveness, weir__id task, uint64_t lo, uint64_t hi,
                          weir__dependences *dependences) {
  share(map, liveness, task, lo, hi, dependences, weir__segment_read);
}

void weir__range_map_commute(weir__range_map *map, const weir__liveness *liveness, weir__id task, uint64_t lo,
                             uint64_t hi, weir__dependences *dependences) {
  share(map, liveness, task, lo, hi, dependences, weir__segment_commute);
}

void weir__range_map_write(weir__range_map *map, const weir__liveness *liveness, weir__id task, bool reads, uint64_t lo,
                           uint64_t hi, weir__dependences *dependences) {
  weir__range_segment *known[FEW_SEGMENTS];
  begin(map, liveness, dependences);
  uint32_t count = recall(map, lo, hi, known);
  for (uint32_t i = 0; i < count; i++)
    weir__segment_write(&known[i]->segment, liveness, task, reads, known[i]->lo, known[i]->hi, dependences);
  if (count > 0) return;
  place at = end_at(map, begin_at(map, lo, dependences), hi, dependences);
  weir__segment_write(segment_at(at), liveness, task, reads, lo, found_at(at)->hi, dependences);
  while (found_at(at)->hi < hi) {
    place after = at;
    next_place(&after);
    weir__range_segment *next = found_at(after);
    weir__segment_write(&next->segment, liveness, task, reads, next->lo, next->hi, dependences);
    at = remove_next(map, at);
  }
  weir__range_pool_remember(map->pool, map->number, found_at(at));
}

// Makes a segment start at `at`, or leaves the map as it is where memory is short.
static void try_begin_at(weir__range_map *map, uint64_t at) {
  if (at == 0 || at >= map->bytes) return;
  weir__range_segment *found = found_at(find(map, at));
  if (found->lo == at || !weir__range_pool_reserve(map->pool, 1)) return;
  weir__range_segment *copy = weir__range_pool_take_segment(map->pool);
  if (!weir__segment_copy(&copy->segment, &found->segment, &map->pool->arrays)) {
    weir__range_pool_give_segment(map->pool, copy);
    return;
  }
  copy->lo = at;
  copy->hi = found->hi;
  found->hi = at;
  path way;
  weir__range_node *leaf = descend(map, at, &way);
  insert_on(map, &way, (uint32_t)(floor_index(leaf, at) + 1), at, copy);
}

// Cuts off what is not to be poisoned from a segment that `task` was the last to write.
static void cut_poisoned(weir__range_map *map, weir__id task, uint64_t at) {
  if (at < map->bytes && segment_at(find(map, at))->writer == task) try_begin_at(map, at);
}

void weir__range_map_poison(weir__range_map *map, weir__id task, uint64_t lo, uint64_t hi, uint32_t failure) {
  cut_poisoned(map, task, lo);
  cut_poisoned(map, task, hi);
  place at = find(map, lo);
  do {
    if (found_at(at)->lo >= hi) break;
    if (weir__segment_is_by(segment_at(at), task)) segment_at(at)->poisoned = failure;
  } while (next_place(&at));
}

bool weir__range_map_idle(weir__range_map *map, const weir__liveness *liveness) {
  place at = find(map, 0);
  do {
    if (!weir__segment_idle(segment_at(at), liveness)) return false;
  } while (next_place(&at));
  return true;
}

void weir__range_map_visit_range(const weir__range_map *map, uint64_t lo, uint64_t hi,
                                 void (*visit)(void *user, uint64_t lo, uint64_t hi, weir__segment *segment),
                                 void *user) {
  place at = find(map, lo);
  do {
    uint64_t from = found_at(at)->lo, to = found_at(at)->hi;
    if (from >= hi) break;
    visit(user, from > lo ? from : lo, to < hi ? to : hi, segment_at(at));
  } while (next_place(&at));
}

void weir__range_map_visit(const weir__range_map *map,
                           void (*visit)(void *user, uint64_t lo, uint64_t hi, const weir__segment *segment),
                           void *user) {
  place at = find(map, 0);
  do {
    visit(user, found_at(at)->lo, found_at(at)->hi, segment_at(at));
  } while (next_place(&at));
}
