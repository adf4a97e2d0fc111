// SPDX-License-Identifier: Apache-2.0
//
// A binary heap in an array of items, whose type is the caller's and begins with the key. The caller makes room. The
// functions are inline, so that the size of an item is known where they are used.
#ifndef WEIR_BASE_HEAP_H
#define WEIR_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// The item of the least `at` comes first; of those that have the same, the one of the least number.
typedef struct weir__heap_key {
  uint64_t at, number;
} weir__heap_key;

static inline bool weir__heap_is_earlier(const void *a, const void *b) {
  const weir__heap_key *x = a, *y = b;
  return x->at != y->at ? x->at < y->at : x->number < y->number;
}

// Adds an item to the `count` items of `bytes` bytes each, behind which there is room for one.
static inline void weir__heap_add(void *items, size_t count, size_t bytes, const void *item) {
  char *all = items;
  const weir__heap_key key = *(const weir__heap_key *)item;
  size_t at = count;
  for (size_t parent; at > 0; at = parent) {
    parent = (at - 1) / 2;
    if (!weir__heap_is_earlier(&key, all + parent * bytes)) break;
    memcpy(all + at * bytes, all + parent * bytes, bytes);
  }
  memcpy(all + at * bytes, item, bytes);
}

// Removes the first of `count` items, which is items[0], and of which there is one at least.
static inline void weir__heap_remove(void *items, size_t count, size_t bytes) {
  char *all = items, *moved = all + (count - 1) * bytes;
  const weir__heap_key key = *(const weir__heap_key *)(const void *)moved;
  size_t at = 0, left = count - 1;
  for (size_t child; (child = 2 * at + 1) < left; at = child) {
    if (child + 1 < left && weir__heap_is_earlier(all + (child + 1) * bytes, all + child * bytes)) child++;
    if (!weir__heap_is_earlier(all + child * bytes, &key)) break;
    memcpy(all + at * bytes, all + child * bytes, bytes);
  }
  if (left > 0) memcpy(all + at * bytes, moved, bytes);
}

#endif // WEIR_BASE_HEAP_H
