// SPDX-License-Identifier: Apache-2.0
//
// Things to come, the one of the least time first; of those at the same time, the one that was added first.
#ifndef WEIR_TOOLS_CLUSTER_HEAP_H
#define WEIR_TOOLS_CLUSTER_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weir__cluster_item {
  double at;
  uint64_t number; // set by `add`
  uint32_t kind, index, generation;
} weir__cluster_item;

typedef struct weir__cluster_heap {
  weir__cluster_item *items; // the first one is at 0; freed by free()
  size_t count, capacity;
  uint64_t numbers;
} weir__cluster_heap;

// False: no memory.
bool weir__cluster_heap_add(weir__cluster_heap *heap, weir__cluster_item item);

// Removes the first item; there is one.
weir__cluster_item weir__cluster_heap_take(weir__cluster_heap *heap);

#endif // WEIR_TOOLS_CLUSTER_HEAP_H
