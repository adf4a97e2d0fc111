// SPDX-License-Identifier: Apache-2.0
#include "window/box_tree.h"

// A balanced tree of all leaves that memory could hold is not as deep.
enum { MAX_DEPTH = 128, GAP_NODES = 32 };

static weir__cell around(const weir__cell *a, const weir__cell *b) {
  weir__cell both;
  for (int axis = 0; axis < WEIR__AXES; axis++) {
    both.lo[axis] = a->lo[axis] < b->lo[axis] ? a->lo[axis] : b->lo[axis];
    both.hi[axis] = a->hi[axis] > b->hi[axis] ? a->hi[axis] : b->hi[axis];
  }
  return both;
}

// What it costs to have such bounds: how likely an access is to meet them.
static double cost(const weir__box_map *map, const weir__cell *cell) {
  double sum = 0;
  for (int axis = 0; axis < WEIR__AXES; axis++) sum += (double)(cell->hi[axis] - cell->lo[axis]) * map->scale[axis];
  return sum;
}

static double cost_with(const weir__box_map *map, const weir__box_node *node, const weir__cell *cell) {
  weir__cell both = around(&node->cell, cell);
  return node->height == 0 ? cost(map, &both) : cost(map, &both) - cost(map, &node->cell);
}

static void fit(weir__box_node *node) {
  const weir__box_node *left = node->child[0], *right = node->child[1];
  node->cell = around(&left->cell, &right->cell);
  node->height = (left->height > right->height ? left->height : right->height) + 1;
}

static void replace_child(weir__box_map *map, weir__box_node *parent, const weir__box_node *old, weir__box_node *node) {
  node->parent = parent;
  if (parent == NULL)
    map->root = node;
  else
    parent->child[parent->child[1] == old] = node;
}

// Moves the higher child of `node` up into its place, and `node` down. Returns the former.
static weir__box_node *rotate(weir__box_map *map, weir__box_node *node, int higher) {
  weir__box_node *up = node->child[higher];
  int taller = up->child[0]->height < up->child[1]->height;
  weir__box_node *stays = up->child[taller], *moves = up->child[1 - taller];
  replace_child(map, node->parent, node, up);
  up->child[0] = node;
  up->child[1] = stays;
  node->parent = up;
  node->child[higher] = moves;
  moves->parent = node;
  fit(node);
  fit(up);
  return up;
}

// Makes bounds and heights right from `node` up to the root.
static void mend(weir__box_map *map, weir__box_node *node) {
  for (; node != NULL; node = node->parent) {
    uint32_t left = node->child[0]->height, right = node->child[1]->height;
    if (left > right + 1)
      node = rotate(map, node, 0);
    else if (right > left + 1)
      node = rotate(map, node, 1);
    else
      fit(node);
  }
}

void weir__box_tree_insert(weir__box_map *map, weir__box_node *leaf) {
  leaf->height = 0;
  if (map->root == NULL) {
    map->root = leaf;
    leaf->parent = NULL;
    return;
  }
  weir__box_node *sibling = map->root;
  while (sibling->height > 0) {
    weir__cell both = around(&sibling->cell, &leaf->cell);
    double here = cost(map, &both), below = here - cost(map, &sibling->cell);
    double left = cost_with(map, sibling->child[0], &leaf->cell);
    double right = cost_with(map, sibling->child[1], &leaf->cell);
    if (here < below + left && here < below + right) break;
    sibling = sibling->child[right < left];
  }
  weir__box_node *node = weir__box_pool_take(map->pool);
  replace_child(map, sibling->parent, sibling, node);
  node->child[0] = sibling;
  node->child[1] = leaf;
  sibling->parent = leaf->parent = node;
  mend(map, node);
}

void weir__box_tree_remove(weir__box_map *map, weir__box_node *leaf) {
  weir__box_node *parent = leaf->parent;
  if (parent == NULL) {
    map->root = NULL;
    return;
  }
  weir__box_node *above = parent->parent;
  replace_child(map, above, parent, parent->child[parent->child[0] == leaf]);
  weir__box_pool_give(map->pool, parent);
  mend(map, above);
}

size_t weir__box_tree_find(const weir__box_map *map, const weir__cell *cell) {
  weir__box_node *stack[MAX_DEPTH];
  weir__box_node **found = map->pool->found;
  size_t depth = 0, count = 0;
  if (map->root != NULL) stack[depth++] = map->root;
  while (depth > 0) {
    weir__box_node *node = stack[--depth];
    if (!weir__cells_overlap(&node->cell, cell)) continue;
    if (node->height == 0) {
      found[count++] = node;
    } else {
      stack[depth++] = node->child[1];
      stack[depth++] = node->child[0];
    }
  }
  return count;
}

// Nodes that are still to be taken away from a cell.
typedef struct rest {
  const weir__box_node *node;
  const struct rest *next;
} rest;

static bool gaps(weir__cell cell, const rest *nodes, weir__cell_visit visit, void *user) {
  rest children[GAP_NODES]; // of the nodes that the cell was found in, from the root down
  uint32_t used = 0;
  while (nodes != NULL) {
    const weir__box_node *node = nodes->node;
    nodes = nodes->next;
    if (!weir__cells_overlap(&cell, &node->cell)) continue;
    // What is beside the node's bounds meets nothing in it.
    for (int axis = 0; axis < WEIR__AXES; axis++) {
      weir__cell beside = cell;
      if (cell.lo[axis] < node->cell.lo[axis]) {
        beside.hi[axis] = cell.lo[axis] = node->cell.lo[axis];
        if (!gaps(beside, nodes, visit, user)) return false;
        beside = cell;
      }
      if (cell.hi[axis] > node->cell.hi[axis]) {
        beside.lo[axis] = cell.hi[axis] = node->cell.hi[axis];
        if (!gaps(beside, nodes, visit, user)) return false;
      }
    }
    if (node->height == 0) return true; // all the rest is in this leaf
    if (used + 2 > GAP_NODES) return gaps(cell, &(rest){node, nodes}, visit, user);
    children[used] = (rest){node->child[1], nodes};
    children[used + 1] = (rest){node->child[0], &children[used]};
    nodes = &children[used + 1];
    used += 2;
  }
  return visit(user, &cell);
}

bool weir__box_tree_gaps(const weir__box_map *map, const weir__cell *cell, weir__cell_visit visit, void *user) {
  return gaps(*cell, map->root == NULL ? NULL : &(rest){map->root, NULL}, visit, user);
}
