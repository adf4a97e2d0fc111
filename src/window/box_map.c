// SPDX-License-Identifier: Apache-2.0
#include "window/box_map.h"

#include "window/box_tree.h"

enum { NODES_PER_LEAF = 2, MOST_PIECES = 2 * WEIR__AXES };

static void set_layout(weir__box_map *map, const weir_box *box) {
  weir__box_layout layout = weir__box_layout_of(box, map->layout.bytes);
  uint64_t slice = layout.slice_pitch == WEIR__NO_SLICES ? layout.bytes : layout.slice_pitch;
  map->layout = layout;
  map->scale[WEIR__SLICE] = (double)slice / (double)layout.bytes;
  map->scale[WEIR__ROW] = (double)layout.pitch / (double)slice;
  map->scale[WEIR__COLUMN] = 1 / (double)layout.pitch;
}

void weir__box_map_initialize(weir__box_map *map, weir__box_pool *pool, uint64_t bytes, const weir_box *box) {
  *map = (weir__box_map){.pool = pool, .layout.bytes = bytes};
  set_layout(map, box);
  pool->map_count++;
}

static void free_node(weir__box_map *map, weir__box_node *node) {
  if (node->height == 0) {
    weir__box_pool_remove(map->pool, node);
    weir__segment_empty(&node->segment, &map->pool->arrays);
  } else {
    free_node(map, node->child[0]);
    free_node(map, node->child[1]);
  }
  weir__box_pool_give(map->pool, node);
}

void weir__box_map_deinitialize(weir__box_map *map) {
  if (map->root != NULL) free_node(map, map->root);
  map->pool->map_count--;
  *map = (weir__box_map){0};
}

void weir__box_map_drop(weir__box_map *map, weir__box_node *leaf) {
  weir__box_tree_remove(map, leaf);
  weir__box_pool_remove(map->pool, leaf);
  weir__segment_empty(&leaf->segment, &map->pool->arrays);
  weir__box_pool_give(map->pool, leaf);
}

// Gives a leaf, which is in no tree, a place. Needs a reserve of one node.
static void place(weir__box_map *map, weir__box_node *leaf, const weir__cell *cell) {
  leaf->cell = *cell;
  weir__box_tree_insert(map, leaf);
  weir__box_pool_enter(map->pool, leaf);
}

static void displace(weir__box_map *map, weir__box_node *leaf) {
  weir__box_tree_remove(map, leaf);
  weir__box_pool_remove(map->pool, leaf);
}

// A leaf with a copy of `users` (NULL: without users), in no tree. Needs a reserve of one node. NULL: no memory for the copy.
static weir__box_node *make_leaf(weir__box_map *map, const weir__segment *users, uint32_t stamp) {
  weir__box_node *leaf = weir__box_pool_take(map->pool);
  leaf->map = map;
  leaf->stamp = stamp;
  leaf->height = 0;
  weir__segment_initialize(&leaf->segment);
  if (users == NULL || weir__segment_copy(&leaf->segment, users, &map->pool->arrays)) return leaf;
  weir__segment_empty(&leaf->segment, &map->pool->arrays);
  weir__box_pool_give(map->pool, leaf);
  return NULL;
}

static bool add_leaf(weir__box_map *map, const weir__cell *cell, const weir__segment *users, uint32_t stamp) {
  if (!weir__box_pool_reserve(map->pool, NODES_PER_LEAF)) return false;
  weir__box_node *leaf = make_leaf(map, users, stamp);
  if (leaf != NULL) place(map, leaf, cell);
  return leaf != NULL;
}

// Cuts a leaf at the edges of `cell`, which it meets: it becomes what is inside, and others what is outside.
static bool cut(weir__box_map *map, weir__box_node *leaf, const weir__cell *cell) {
  if (!weir__box_pool_reserve(map->pool, (MOST_PIECES + 1) * NODES_PER_LEAF)) return false;
  weir__cell inside = leaf->cell;
  bool complete = true;
  displace(map, leaf);
  for (int piece = 0; piece < MOST_PIECES && complete; piece++) {
    int axis = piece / 2;
    weir__cell outside = inside, smaller = inside;
    if (piece % 2 == 0)
      outside.hi[axis] = smaller.lo[axis] = cell->lo[axis];
    else
      outside.lo[axis] = smaller.hi[axis] = cell->hi[axis];
    if (outside.lo[axis] >= outside.hi[axis]) continue;
    weir__box_node *other = make_leaf(map, &leaf->segment, leaf->stamp);
    complete = other != NULL;
    if (!complete) break;
    place(map, other, &outside);
    inside = smaller;
  }
  place(map, leaf, &inside);
  return complete;
}

// ---------------------------------------------------------------------------------------------------------------

typedef struct preparation {
  weir__box_map *map;
  const weir__liveness *liveness;
  weir__box_node *made; // leaves for gaps, in no tree yet, linked by `next`
} preparation;

static bool note_gap(void *user, const weir__cell *cell) {
  preparation *self = user;
  weir__box_pool *pool = self->map->pool;
  if (!weir__box_pool_reserve(pool, 1)) return false;
  weir__box_node *leaf = make_leaf(self->map, NULL, pool->stamp);
  leaf->cell = *cell;
  leaf->next = self->made;
  self->made = leaf;
  return true;
}

// What nobody uses gets leaves, too: a read is recorded everywhere, and what is prepared for a write ends at its edges.
static bool fill_gaps(preparation *self, const weir__cell *cell) {
  self->made = NULL;
  bool complete = weir__box_tree_gaps(self->map, cell, note_gap, self);
  while (self->made != NULL) {
    weir__box_node *leaf = self->made;
    self->made = leaf->next;
    complete = complete && weir__box_pool_reserve(self->map->pool, 1);
    if (complete)
      place(self->map, leaf, &leaf->cell);
    else
      weir__box_pool_give(self->map->pool, leaf);
  }
  return complete;
}

// Leaves that the cell meets and that somebody uses, or will: pool->found has them. All others are dropped.
static size_t find_used(preparation *self, const weir__cell *cell) {
  weir__box_pool *pool = self->map->pool;
  size_t count = weir__box_tree_find(self->map, cell), used = 0;
  for (size_t i = 0; i < count; i++) {
    weir__box_node *leaf = pool->found[i];
    if (leaf->stamp != pool->stamp && !leaf->segment.poisoned && weir__segment_idle(&leaf->segment, self->liveness))
      weir__box_map_drop(self->map, leaf);
    else
      pool->found[used++] = leaf;
  }
  return used;
}

static bool cut_found(preparation *self, const weir__cell *cell) {
  weir__box_pool *pool = self->map->pool;
  size_t used = find_used(self, cell);
  if (used == 0) return add_leaf(self->map, cell, NULL, pool->stamp);
  for (size_t i = 0; i < used;) {
    weir__box_node *leaf = pool->found[i++];
    leaf->stamp = pool->stamp;
    if (weir__cell_contains(cell, &leaf->cell)) continue;
    if (!cut(self->map, leaf, cell)) return false;
    used = weir__box_tree_find(self->map, cell); // making room may have forgotten them; those that were cut are inside
    i = 0;
    while (i < used && weir__cell_contains(cell, &pool->found[i]->cell)) pool->found[i++]->stamp = pool->stamp;
  }
  return fill_gaps(self, cell);
}

static bool prepare_cell(void *user, const weir__cell *cell) {
  preparation *self = user;
  weir__box_node *leaf = weir__box_pool_find(self->map->pool, self->map, cell);
  if (leaf == NULL) return cut_found(self, cell);
  leaf->stamp = self->map->pool->stamp;
  return true;
}

// Calls `visit` for the cells; most boxes are one.
static inline bool each_cell(const weir__box_map *map, uint64_t lo, uint64_t hi, const weir_box *box,
                             weir__cell_visit visit, void *user) {
  weir__cell cell;
  if (box != NULL && weir__box_fits(&map->layout, box) && weir__box_cell(&map->layout, lo, box, &cell))
    return visit(user, &cell);
  return weir__box_cells(&map->layout, lo, hi, box, visit, user);
}

bool weir__box_map_prepare(weir__box_map *map, const weir__liveness *liveness, uint64_t lo, uint64_t hi,
                           const weir_box *box) {
  preparation self = {.map = map, .liveness = liveness};
  return each_cell(map, lo, hi, box, prepare_cell, &self);
}

// ---------------------------------------------------------------------------------------------------------------

typedef struct recording {
  weir__box_map *map;
  const weir__liveness *liveness;
  weir__id task;
  uint64_t lo, hi; // of the access
  bool reads;
  weir__dependences *dependences;
} recording;

// What the leaf and the range of an access have in common at most.
static inline void common_range(const weir__box_map *map, const weir__box_node *leaf, uint64_t lo, uint64_t hi,
                                uint64_t *out_lo, uint64_t *out_hi) {
  weir__cell_range(&map->layout, &leaf->cell, out_lo, out_hi);
  if (*out_lo < lo) *out_lo = lo;
  if (*out_hi > hi) *out_hi = hi;
}

// The dependences from number `first` on, which begin at `lo`, are about the leaf's rows, not about what is between them.
static __attribute__((noinline)) void note_rows(const recording *self, const weir__box_node *leaf, uint64_t lo,
                                                size_t first) {
  const weir__box_layout *layout = &self->map->layout;
  const weir__cell *cell = &leaf->cell;
  const weir_box rows = {.width = cell->hi[WEIR__COLUMN] - cell->lo[WEIR__COLUMN],
                         .pitch = layout->pitch,
                         .rows = cell->hi[WEIR__ROW] - cell->lo[WEIR__ROW],
                         .slice_pitch = layout->slice_pitch,
                         .slices = cell->hi[WEIR__SLICE] - cell->lo[WEIR__SLICE]};
  bool contiguous = rows.slices == 1 && (rows.rows == 1 || rows.width == rows.pitch);
  uint64_t leaf_lo, leaf_hi;
  weir__cell_range(layout, cell, &leaf_lo, &leaf_hi);
  if (!contiguous && leaf_lo == lo) weir__dependences_set_box(self->dependences, first, &rows);
}

static inline void read_leaf(const recording *self, weir__box_node *leaf) {
  uint64_t lo, hi;
  size_t first = self->dependences->count;
  common_range(self->map, leaf, self->lo, self->hi, &lo, &hi);
  weir__segment_read(&leaf->segment, self->liveness, self->task, lo, hi, self->dependences);
  if (self->dependences->exact && self->dependences->count > first) note_rows(self, leaf, lo, first);
}

static bool read_cell(void *user, const weir__cell *cell) {
  const recording *self = user;
  weir__box_pool *pool = self->map->pool;
  weir__box_node *leaf = weir__box_pool_find(pool, self->map, cell);
  if (leaf != NULL) {
    read_leaf(self, leaf);
    return true;
  }
  size_t count = weir__box_tree_find(self->map, cell);
  for (size_t i = 0; i < count; i++) read_leaf(self, pool->found[i]);
  return true;
}

static inline void write_leaf(const recording *self, weir__box_node *leaf) {
  uint64_t lo, hi;
  size_t first = self->dependences->count;
  common_range(self->map, leaf, self->lo, self->hi, &lo, &hi);
  weir__segment_write(&leaf->segment, self->liveness, self->task, self->reads, lo, hi, self->dependences);
  if (self->dependences->exact && self->dependences->count > first) note_rows(self, leaf, lo, first);
}

static bool write_cell(void *user, const weir__cell *cell) {
  const recording *self = user;
  weir__box_map *map = self->map;
  weir__box_node *leaf = weir__box_pool_find(map->pool, map, cell);
  if (leaf != NULL) {
    write_leaf(self, leaf);
    return true;
  }
  // One leaf takes the place of all that it covers.
  size_t count = weir__box_tree_find(map, cell);
  leaf = map->pool->found[0];
  write_leaf(self, leaf);
  for (size_t i = 1; i < count; i++) {
    write_leaf(self, map->pool->found[i]);
    weir__box_map_drop(map, map->pool->found[i]);
  }
  displace(map, leaf);
  place(map, leaf, cell);
  return true;
}

void weir__box_map_read(weir__box_map *map, const weir__liveness *liveness, weir__id task, uint64_t lo, uint64_t hi,
                        const weir_box *box, weir__dependences *dependences) {
  recording self = {.map = map, .liveness = liveness, .task = task, .lo = lo, .hi = hi, .dependences = dependences};
  dependences->arrays = &map->pool->arrays;
  each_cell(map, lo, hi, box, read_cell, &self);
}

void weir__box_map_write(weir__box_map *map, const weir__liveness *liveness, weir__id task, bool reads, uint64_t lo,
                         uint64_t hi, const weir_box *box, weir__dependences *dependences) {
  recording self = {
      .map = map, .liveness = liveness, .task = task, .lo = lo, .hi = hi, .reads = reads, .dependences = dependences};
  dependences->arrays = &map->pool->arrays;
  each_cell(map, lo, hi, box, write_cell, &self);
}

void weir__box_map_write_all(weir__box_map *map, const weir__liveness *liveness, weir__id task, bool reads,
                             weir__dependences *dependences) {
  recording self = {.map = map,
                    .liveness = liveness,
                    .task = task,
                    .hi = map->layout.bytes,
                    .reads = reads,
                    .dependences = dependences};
  if (map->root == NULL) return;
  weir__cell all = map->root->cell;
  size_t count = weir__box_tree_find(map, &all);
  for (size_t i = 0; i < count; i++) write_leaf(&self, map->pool->found[i]);
}

// ---------------------------------------------------------------------------------------------------------------

typedef struct visits {
  const weir__box_map *map;
  uint64_t lo, hi;
  void (*visit)(void *user, uint64_t lo, uint64_t hi, weir__segment *segment);
  void *user;
} visits;

static bool visit_cell(void *user, const weir__cell *cell) {
  const visits *self = user;
  size_t count = weir__box_tree_find(self->map, cell);
  for (size_t i = 0; i < count; i++) {
    weir__box_node *leaf = self->map->pool->found[i];
    uint64_t lo, hi;
    common_range(self->map, leaf, self->lo, self->hi, &lo, &hi);
    self->visit(self->user, lo, hi, &leaf->segment);
  }
  return true;
}

void weir__box_map_visit(const weir__box_map *map, uint64_t lo, uint64_t hi, const weir_box *box,
                         void (*visit)(void *user, uint64_t lo, uint64_t hi, weir__segment *segment), void *user) {
  visits self = {.map = map, .lo = lo, .hi = hi, .visit = visit, .user = user};
  each_cell(map, lo, hi, box, visit_cell, &self);
}

typedef struct box_failure {
  weir__id writer;
  uint32_t failure;
} box_failure;

static void poison_segment(void *user, uint64_t lo, uint64_t hi, weir__segment *segment) {
  const box_failure *failed = user;
  (void)lo;
  (void)hi;
  if (weir__segment_is_by(segment, failed->writer)) segment->poisoned = failed->failure;
}

void weir__box_map_poison(weir__box_map *map, weir__id task, uint64_t lo, uint64_t hi, const weir_box *box,
                          uint32_t failure) {
  weir__box_map_visit(map, lo, hi, box, poison_segment, &(box_failure){task, failure});
}

static bool is_idle(weir__box_node *node, const weir__liveness *liveness) {
  for (; node->height > 0; node = node->child[1]) {
    if (!is_idle(node->child[0], liveness)) return false;
  }
  return weir__segment_idle(&node->segment, liveness);
}

bool weir__box_map_idle(weir__box_map *map, const weir__liveness *liveness) {
  return map->root == NULL || is_idle(map->root, liveness);
}

void weir__box_map_take_layout(weir__box_map *map, const weir__liveness *liveness, const weir_box *box) {
  while (map->root != NULL) {
    weir__box_node *leaf = map->root;
    while (leaf->height > 0) leaf = leaf->child[0];
    bool stays = leaf->segment.poisoned || leaf->stamp == map->pool->stamp;
    if (stays || !weir__segment_idle(&leaf->segment, liveness)) return;
    weir__box_map_drop(map, leaf);
  }
  set_layout(map, box);
}

typedef struct addition {
  weir__box_map *map;
  const weir__segment *users;
} addition;

static bool add_cell(void *user, const weir__cell *cell) {
  const addition *self = user;
  return add_leaf(self->map, cell, self->users, self->map->pool->stamp);
}

bool weir__box_map_add(weir__box_map *map, uint64_t lo, uint64_t hi, const weir_box *box, const weir__segment *users) {
  addition self = {.map = map, .users = users};
  return each_cell(map, lo, hi, box, add_cell, &self);
}
