// SPDX-License-Identifier: Apache-2.0
//
// A treap: a search tree by lo that is a heap by random priorities, so that splitting and merging keep it balanced.
// Node 0 stands for "none".
#include "check/intervals.h"

#include <stdlib.h>

struct weir__interval_node {
  weir__interval interval;
  uint32_t left, right, priority;
};

void weir__intervals_clear(weir__intervals *map) {
  map->node_count = 0;
  map->free_node = 0;
  map->root = 0;
}

void weir__intervals_destroy(weir__intervals *map) {
  free(map->nodes);
  free(map->taken);
  *map = (weir__intervals){0};
}

static uint32_t next_priority(weir__intervals *map) {
  map->random = map->random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(map->random >> 32);
}

// A new node, or 0.
static uint32_t add_node(weir__intervals *map, const weir__interval *interval) {
  uint32_t index = map->free_node;
  if (index) {
    map->free_node = map->nodes[index].left;
  } else {
    index = map->node_count ? map->node_count : 1;
    if (index >= map->node_capacity) {
      uint32_t wanted = map->node_capacity ? map->node_capacity * 2 : 256;
      weir__interval_node *larger = realloc(map->nodes, wanted * sizeof *larger);
      if (!larger) return 0;
      map->nodes = larger;
      map->node_capacity = wanted;
    }
    map->node_count = index + 1;
  }
  map->nodes[index] = (weir__interval_node){*interval, 0, 0, next_priority(map)};
  return index;
}

static void drop_node(weir__intervals *map, uint32_t index) {
  map->nodes[index].left = map->free_node;
  map->free_node = index;
}

// Splits the tree into intervals with lo below `at` and the others.
static void split(weir__intervals *map, uint32_t tree, uint64_t at, uint32_t *out_below, uint32_t *out_rest) {
  *out_below = *out_rest = 0;
  while (tree) {
    weir__interval_node *node = &map->nodes[tree];
    if (node->interval.lo < at) {
      *out_below = tree;
      out_below = &node->right;
      tree = node->right;
    } else {
      *out_rest = tree;
      out_rest = &node->left;
      tree = node->left;
    }
  }
  *out_below = *out_rest = 0;
}

// Joins two trees, all of the first before all of the second.
static uint32_t join(weir__intervals *map, uint32_t first, uint32_t second) {
  uint32_t root = 0, *place = &root;
  while (first && second) {
    if (map->nodes[first].priority > map->nodes[second].priority) {
      *place = first;
      place = &map->nodes[first].right;
      first = *place;
    } else {
      *place = second;
      place = &map->nodes[second].left;
      second = *place;
    }
  }
  *place = first ? first : second;
  return root;
}

// Makes `at` a border between intervals if it lies inside one.
static bool cut(weir__intervals *map, uint64_t at) {
  uint32_t index = map->root, inside = 0;
  while (index) {
    const weir__interval_node *node = &map->nodes[index];
    if (node->interval.lo < at) inside = index;
    index = node->interval.lo < at ? node->right : node->left;
  }
  if (!inside || map->nodes[inside].interval.hi <= at) return true;
  weir__interval upper = map->nodes[inside].interval;
  upper.lo = at;
  map->nodes[inside].interval.hi = at;
  uint32_t added = add_node(map, &upper), below = 0, rest = 0;
  if (!added) return false;
  split(map, map->root, at, &below, &rest);
  map->root = join(map, join(map, below, added), rest);
  return true;
}

static bool add_taken(weir__intervals *map, const weir__interval *interval) {
  if (map->taken_count == map->taken_capacity) {
    size_t wanted = map->taken_capacity ? map->taken_capacity * 2 : 64;
    weir__interval *larger = realloc(map->taken, wanted * sizeof *larger);
    if (!larger) return false;
    map->taken = larger;
    map->taken_capacity = wanted;
  }
  map->taken[map->taken_count++] = *interval;
  return true;
}

static bool add_gap(weir__intervals *map, uint64_t lo, uint64_t hi) {
  weir__interval gap = {lo, hi, WEIR__NO_ACCESS, WEIR__NO_ACCESS, WEIR__NO_ACCESS};
  return lo == hi || add_taken(map, &gap);
}

// Moves a tree to map->taken in order, with gaps from *at filled if `fill`, and drops its nodes. As deep as the tree.
static bool flatten(weir__intervals *map, uint32_t tree, bool fill, uint64_t *at) {
  if (!tree) return true;
  weir__interval_node node = map->nodes[tree];
  if (!flatten(map, node.left, fill, at) || (fill && !add_gap(map, *at, node.interval.lo)) ||
      !add_taken(map, &node.interval)) {
    return false;
  }
  *at = node.interval.hi;
  drop_node(map, tree);
  return flatten(map, node.right, fill, at);
}

bool weir__intervals_take(weir__intervals *map, uint64_t lo, uint64_t hi) {
  uint32_t below = 0, middle = 0, above = 0;
  uint64_t at = lo;
  map->taken_count = 0;
  if (!cut(map, lo) || !cut(map, hi)) return false;
  split(map, map->root, lo, &below, &middle);
  split(map, middle, hi, &middle, &above);
  map->root = join(map, below, above);
  return flatten(map, middle, true, &at) && add_gap(map, at, hi);
}

static bool same(const weir__interval *a, const weir__interval *b) {
  return a->hi == b->lo && a->writer == b->writer && a->reader == b->reader && a->version == b->version;
}

bool weir__intervals_put(weir__intervals *map) {
  if (map->taken_count == 0) return true;
  uint32_t below = 0, above = 0;
  split(map, map->root, map->taken[0].lo, &below, &above);
  for (size_t i = 0; i < map->taken_count;) {
    weir__interval interval = map->taken[i++];
    while (i < map->taken_count && same(&interval, &map->taken[i])) interval.hi = map->taken[i++].hi;
    uint32_t added = add_node(map, &interval);
    if (!added) return false;
    below = join(map, below, added);
  }
  map->root = join(map, below, above);
  map->taken_count = 0;
  return true;
}

bool weir__intervals_take_all(weir__intervals *map) {
  uint64_t at = 0;
  uint32_t root = map->root;
  map->taken_count = 0;
  map->root = 0;
  return flatten(map, root, false, &at);
}
