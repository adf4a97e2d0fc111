// SPDX-License-Identifier: Apache-2.0
#include "cluster/heap.h"

#include <stdlib.h>

static bool earlier(const weir__cluster_item *a, const weir__cluster_item *b) {
  return a->at != b->at ? a->at < b->at : a->number < b->number;
}

static bool grow(weir__cluster_heap *heap) {
  size_t capacity = heap->capacity == 0 ? 16 : 2 * heap->capacity;
  weir__cluster_item *items = realloc(heap->items, capacity * sizeof *items);
  if (items == NULL) return false;
  heap->items = items;
  heap->capacity = capacity;
  return true;
}

bool weir__cluster_heap_add(weir__cluster_heap *heap, weir__cluster_item item) {
  if (heap->count == heap->capacity && !grow(heap)) return false;
  item.number = heap->numbers++;
  size_t at = heap->count++;
  for (; at > 0 && earlier(&item, &heap->items[(at - 1) / 2]); at = (at - 1) / 2)
    heap->items[at] = heap->items[(at - 1) / 2];
  heap->items[at] = item;
  return true;
}

weir__cluster_item weir__cluster_heap_take(weir__cluster_heap *heap) {
  weir__cluster_item first = heap->items[0], moved = heap->items[--heap->count];
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
    if (child + 1 < heap->count && earlier(&heap->items[child + 1], &heap->items[child])) child++;
    if (!earlier(&heap->items[child], &moved)) break;
    heap->items[at] = heap->items[child];
  }
  if (heap->count > 0) heap->items[at] = moved;
  return first;
}
