// SPDX-License-Identifier: Apache-2.0
//
// Things to come, the one of the least time first; of those at the same time, the one that was added first.
#ifndef WEIR_TOOLS_CLUSTER_HEAP_H
#define WEIR_TOOLS_CLUSTER_HEAP_H

#include "base/heap.h"

typedef struct weir__cluster_item {
  weir__heap_key key; // the time as bits: those of numbers that are not negative have their order
  uint32_t kind, index, generation;
} weir__cluster_item;

static inline double weir__cluster_item_at(const weir__cluster_item *item) {
  double at;
  memcpy(&at, &item->key.at, sizeof at);
  return at;
}

typedef struct weir__cluster_heap {
  weir__cluster_item *items; // the first one is at 0; freed by free()
  size_t count, capacity;
  uint64_t numbers;
} weir__cluster_heap;

// Adds an item, whose key is set, at a time of 0 or more. False: no memory.
bool weir__cluster_heap_add(weir__cluster_heap *heap, double at, weir__cluster_item item);

// Removes the first item; there is one.
weir__cluster_item weir__cluster_heap_take(weir__cluster_heap *heap);

#endif // WEIR_TOOLS_CLUSTER_HEAP_H
