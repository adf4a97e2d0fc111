// SPDX-License-Identifier: Apache-2.0
//
// DESIGN. Inner nodes hold lower bounds: key[i] is at most the first key below child[i], and key[0] of the leftmost path
// is never looked at. Removing the first entry of a leaf leaves its bound as it is; a search that lands before the
// first entry of a leaf steps back to the leaf before. Nodes are joined with their right neighbour when both are nearly
// empty; stricter balancing would buy nothing, since accesses refill what they empty.
#include "window/range_map.h"

#include <string.h>

#include "base/allocate.h"

enum {
  FANOUT = WEIR__RANGE_FANOUT,
  MAX_HEIGHT = 16,
  SLAB_NODES = 32,
  SLAB_SEGMENTS = 512,
  NODES_PER_ACCESS = 2 * (MAX_HEIGHT + 1),
  SEGMENTS_PER_ACCESS = 3,
  SWEEP_EVERY = 16,
  SWEEP_STEPS = 96,
};

struct weir__range_node {
  uint32_t count;
  weir__range_node *next, *previous; // of leaves; `next` also links free nodes
  uint64_t key[FANOUT];
  void *child[FANOUT]; // nodes, or segments in a leaf
};

struct weir__range_segment {
  weir__segment segment;
  struct weir__range_segment *next_free;
};

struct weir__range_slab {
  struct weir__range_slab *next;
};

typedef struct path {
  weir__range_node *node[MAX_HEIGHT + 1]; // from the root (level `height`) to the leaf (level 0)
  uint32_t index[MAX_HEIGHT + 1];
} path;

typedef struct place {
  weir__range_node *leaf;
  uint32_t index;
} place;

void weir__range_pool_initialize(weir__range_pool *pool) {
  *pool = (weir__range_pool){0};
}

void weir__range_pool_deinitialize(weir__range_pool *pool) {
  weir__box_pool_deinitialize(&pool->boxes);
  weir__id_arrays_deinitialize(&pool->arrays);
  while (pool->slabs != NULL) {
    struct weir__range_slab *slab = pool->slabs;
    pool->slabs = slab->next;
    weir__free(slab);
  }
  *pool = (weir__range_pool){0};
}

static void *add_slab(weir__range_pool *pool, size_t bytes) {
  struct weir__range_slab *slab = weir__allocate(64 + bytes);
  if (slab == NULL) return NULL;
  slab->next = pool->slabs;
  pool->slabs = slab;
  return (char *)slab + 64;
}

static void free_node(weir__range_pool *pool, weir__range_node *node) {
  node->next = pool->free_nodes;
  pool->free_nodes = node;
  pool->free_node_count++;
}

static weir__range_node *take_node(weir__range_pool *pool) {
  weir__range_node *node = pool->free_nodes;
  pool->free_nodes = node->next;
  pool->free_node_count--;
  node->count = 0;
  node->next = node->previous = NULL;
  return node;
}

static void free_segment(weir__range_pool *pool, struct weir__range_segment *segment) {
  weir__segment_empty(&segment->segment, &pool->arrays);
  segment->next_free = pool->free_segments;
  pool->free_segments = segment;
  pool->free_segment_count++;
}

static struct weir__range_segment *take_segment(weir__range_pool *pool) {
  struct weir__range_segment *segment = pool->free_segments;
  pool->free_segments = segment->next_free;
  pool->free_segment_count--;
  return segment;
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

bool weir__range_pool_reserve_many(weir__range_pool *pool, size_t accesses, size_t maps) {
  for (size_t needed = nodes_for(pool, accesses, maps); pool->free_node_count < needed;) {
    weir__range_node *nodes = add_slab(pool, SLAB_NODES * sizeof *nodes);
    if (nodes == NULL) return false;
    for (int i = 0; i < SLAB_NODES; i++) free_node(pool, &nodes[i]);
    pool->node_count += SLAB_NODES;
  }
  while (pool->free_segment_count < accesses * SEGMENTS_PER_ACCESS) {
    struct weir__range_segment *segments = add_slab(pool, SLAB_SEGMENTS * sizeof *segments);
    if (segments == NULL) return false;
    for (int i = 0; i < SLAB_SEGMENTS; i++) {
      weir__segment_initialize(&segments[i].segment);
      free_segment(pool, &segments[i]);
    }
  }
  return true;
}

static weir__segment *segment_at(place at) {
  return &((struct weir__range_segment *)at.leaf->child[at.index])->segment;
}

// Index of the last key that is at most `key`, or -1.
static int floor_index(const weir__range_node *node, uint64_t key) {
  uint32_t low = 0, high = node->count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (node->key[middle] <= key)
      low = middle + 1;
    else
      high = middle;
  }
  return (int)low - 1;
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
  weir__range_node *right = take_node(map->pool);
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

static void insert(weir__range_map *map, uint64_t key, struct weir__range_segment *segment) {
  path way;
  weir__range_node *node = descend(map, key, &way);
  void *child = segment;
  uint32_t index = (uint32_t)(floor_index(node, key) + 1);
  map->segment_count++;
  for (uint32_t level = 0;; level++) {
    if (node->count < FANOUT) {
      insert_into(node, index, key, child);
      return;
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
      weir__range_node *root = take_node(map->pool);
      insert_into(root, 0, 0, node);
      insert_into(root, 1, key, child);
      map->root = root;
      map->height++;
      return;
    }
    node = way.node[level + 1];
    index = way.index[level + 1] + 1;
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
  free_node(map->pool, right);
  remove_from(parent, index + 1);
  return true;
}

// Removes the segment that starts at `key`, which is not the first of the map.
static void remove_segment(weir__range_map *map, uint64_t key) {
  path way;
  weir__range_node *node = descend(map, key, &way);
  uint32_t index = (uint32_t)floor_index(node, key);
  free_segment(map->pool, node->child[index]);
  remove_from(node, index);
  map->segment_count--;
  for (uint32_t level = 0; level < map->height && node->count < FANOUT / 4; level++) {
    weir__range_node *parent = way.node[level + 1];
    uint32_t at = way.index[level + 1];
    if (node->count == 0) {
      if (level == 0) unlink_leaf(node);
      free_node(map->pool, node);
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
    free_node(map->pool, old);
  }
}

void weir__range_map_initialize(weir__range_map *map, weir__range_pool *pool, uint64_t bytes, weir__segment *whole) {
  *map = (weir__range_map){.pool = pool, .bytes = bytes, .accesses_until_sweep = SWEEP_EVERY, .segment_count = 1};
  struct weir__range_segment *segment = take_segment(pool);
  weir__segment users = *whole;
  *whole = segment->segment;
  segment->segment = users;
  map->root = take_node(pool);
  insert_into(map->root, 0, 0, segment);
}

static void free_tree(weir__range_map *map, weir__range_node *node, uint32_t level) {
  for (uint32_t i = 0; i < node->count; i++) {
    if (level == 0)
      free_segment(map->pool, node->child[i]);
    else
      free_tree(map, node->child[i], level - 1);
  }
  free_node(map->pool, node);
}

void weir__range_map_deinitialize(weir__range_map *map) {
  free_tree(map, map->root, map->height);
  *map = (weir__range_map){0};
}

// Makes a segment start at `at`. A copy of users that does not fit in memory is reported by marking the dependences.
static void split_at(weir__range_map *map, uint64_t at, weir__dependences *dependences) {
  if (at == 0 || at == map->bytes) return;
  place found = find(map, at);
  if (found.leaf->key[found.index] == at) return;
  struct weir__range_segment *copy = take_segment(map->pool);
  if (!weir__segment_copy(&copy->segment, segment_at(found), &map->pool->arrays)) dependences->incomplete = true;
  insert(map, at, copy);
}

static uint64_t end_of(const weir__range_map *map, place at) {
  return next_place(&at) ? at.leaf->key[at.index] : map->bytes;
}

// Joins the segment after `at` to the one at `at` if nobody uses either. False: not joined (or there is none).
static bool join_next(weir__range_map *map, const weir__liveness *liveness, place at) {
  place after = at;
  if (!next_place(&after)) return false;
  weir__segment *segment = segment_at(at), *next = segment_at(after);
  if (segment->poisoned != next->poisoned) return false;
  if (!weir__segment_idle(segment, liveness) || !weir__segment_idle(next, liveness)) return false;
  remove_segment(map, after.leaf->key[after.index]);
  return true;
}

// Looks at some segments, in turn over the accesses, and joins neighbours that nobody uses.
static void sweep(weir__range_map *map, const weir__liveness *liveness) {
  if (--map->accesses_until_sweep > 0) return;
  map->accesses_until_sweep = SWEEP_EVERY;
  place at = find(map, map->sweep_from);
  for (int step = 0; step < SWEEP_STEPS; step++) {
    uint64_t key = at.leaf->key[at.index];
    map->sweep_from = key;
    if (join_next(map, liveness, at)) {
      at = find(map, key);
    } else if (!next_place(&at)) {
      map->sweep_from = 0;
      return;
    }
  }
}

// Records an access after which all segments stay what they were.
static inline __attribute__((always_inline)) void
share(weir__range_map *map, const weir__liveness *liveness, weir__id task, uint64_t lo, uint64_t hi,
      weir__dependences *dependences,
      void (*record)(weir__segment *segment, const weir__liveness *liveness, weir__id task, uint64_t lo, uint64_t hi,
                     weir__dependences *dependences)) {
  dependences->arrays = &map->pool->arrays;
  split_at(map, lo, dependences);
  split_at(map, hi, dependences);
  place at = find(map, lo);
  for (;;) {
    uint64_t from = at.leaf->key[at.index];
    while (end_of(map, at) < hi && join_next(map, liveness, at)) at = find(map, from);
    uint64_t to = end_of(map, at);
    record(segment_at(at), liveness, task, from, to, dependences);
    if (to >= hi) break;
    next_place(&at);
  }
  sweep(map, liveness);
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
  dependences->arrays = &map->pool->arrays;
  split_at(map, lo, dependences);
  split_at(map, hi, dependences);
  place at = find(map, lo);
  uint64_t to = end_of(map, at);
  weir__segment_write(segment_at(at), liveness, task, reads, lo, to, dependences);
  while (to < hi) {
    next_place(&at);
    uint64_t from = to;
    to = end_of(map, at);
    weir__segment_write(segment_at(at), liveness, task, reads, from, to, dependences);
    remove_segment(map, from);
    at = find(map, lo);
  }
  sweep(map, liveness);
}

// Makes a segment start at `at`, in [1, bytes), or leaves the map as it is where memory is short.
static void try_split_at(weir__range_map *map, uint64_t at) {
  if (at == 0 || at >= map->bytes) return;
  place found = find(map, at);
  if (found.leaf->key[found.index] == at || !weir__range_pool_reserve(map->pool, 1)) return;
  struct weir__range_segment *copy = take_segment(map->pool);
  if (weir__segment_copy(&copy->segment, segment_at(found), &map->pool->arrays))
    insert(map, at, copy);
  else
    free_segment(map->pool, copy);
}

// Cuts off what is not to be poisoned from a segment that `task` was the last to write.
static void cut_poisoned(weir__range_map *map, weir__id task, uint64_t at) {
  if (at < map->bytes && segment_at(find(map, at))->writer == task) try_split_at(map, at);
}

void weir__range_map_poison(weir__range_map *map, weir__id task, uint64_t lo, uint64_t hi, uint32_t failure) {
  cut_poisoned(map, task, lo);
  cut_poisoned(map, task, hi);
  place at = find(map, lo);
  do {
    if (at.leaf->key[at.index] >= hi) break;
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
    uint64_t from = at.leaf->key[at.index], to = end_of(map, at);
    if (from >= hi) break;
    visit(user, from > lo ? from : lo, to < hi ? to : hi, segment_at(at));
  } while (next_place(&at));
}

void weir__range_map_visit(const weir__range_map *map,
                           void (*visit)(void *user, uint64_t lo, uint64_t hi, const weir__segment *segment),
                           void *user) {
  place at = find(map, 0);
  do {
    visit(user, at.leaf->key[at.index], end_of(map, at), segment_at(at));
  } while (next_place(&at));
}
