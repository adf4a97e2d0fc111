// SPDX-License-Identifier: Apache-2.0
//
// The tree of a box map: leaves by place. See window/box_map.h.
#ifndef WEIR_WINDOW_BOX_TREE_H
#define WEIR_WINDOW_BOX_TREE_H

#include "window/box_map.h"

// Enters a leaf, which takes one node of the pool unless it is the first, and is reserved; removes one, and gives that node
// back.
void weir__box_tree_insert(weir__box_map *map, weir__box_node *leaf);
void weir__box_tree_remove(weir__box_map *map, weir__box_node *leaf);

// Writes the leaves that meet a cell to pool->found, which has room for all. Returns how many.
size_t weir__box_tree_find(const weir__box_map *map, const weir__cell *cell);

// Calls `visit` for cells, which are disjoint, that are together what no leaf covers of `cell`. It must not change the tree.
// False: `visit` returned false.
bool weir__box_tree_gaps(const weir__box_map *map, const weir__cell *cell, weir__cell_visit visit, void *user);

#endif // WEIR_WINDOW_BOX_TREE_H
