// SPDX-License-Identifier: Apache-2.0
#include "cluster/heap.h"

#include <stdlib.h>

static bool grow(weir__cluster_heap *heap) {
  size_t capacity = heap->capacity == 0 ? 16 : 2 * heap->capacity;
  weir__cluster_item *items = realloc(heap->items, capacity * sizeof *items);
  if (items == NULL) return false;
  heap->items = items;
  heap->capacity = capacity;
  return true;
}

bool weir__cluster_heap_add(weir__cluster_heap *heap, double at, weir__cluster_item item) {
  if (heap->count == heap->capacity && !grow(heap)) return false;
  memcpy(&item.key.at, &at, sizeof at);
  item.key.number = heap->numbers++;
  weir__heap_add(heap->items, heap->count++, sizeof item, &item);
  return true;
}

weir__cluster_item weir__cluster_heap_take(weir__cluster_heap *heap) {
  weir__cluster_item first = heap->items[0];
  weir__heap_remove(heap->items, heap->count--, sizeof first);
  return first;
}
