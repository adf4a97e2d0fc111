// SPDX-License-Identifier: Apache-2.0
//
// Do the addresses of two buffers overlap while neither is freed? A segment tree over the sorted ends of all address
// ranges holds the buffers that live; because they are disjoint, each node is covered by one of them at most.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stream/reader.h"

typedef struct address_tree {
  uint64_t *ends;     // sorted, each once
  size_t leaves;      // stretches between two ends, rounded up to a power of two
  uint32_t *owner;    // per node: the buffer that covers all of it and not all of its parent; UINT32_MAX: none
  uint32_t *occupied; // per node: how many nodes at or below it have an owner
} address_tree;

static int compare_addresses(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static size_t leaf_of(const address_tree *tree, size_t end_count, uint64_t address) {
  size_t low = 0, high = end_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (tree->ends[middle] < address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// A buffer at or below `node`.
static uint32_t owner_below(const address_tree *tree, size_t node) {
  while (tree->owner[node] == UINT32_MAX) node = tree->occupied[2 * node] ? 2 * node : 2 * node + 1;
  return tree->owner[node];
}

// A buffer that lives on some leaf of [low, high), else UINT32_MAX.
static uint32_t find(const address_tree *tree, size_t low, size_t high) {
  for (size_t left = low + tree->leaves, right = high + tree->leaves; left < right; left /= 2, right /= 2) {
    if (left & 1 && tree->occupied[left++]) return owner_below(tree, left - 1);
    if (right & 1 && tree->occupied[--right]) return owner_below(tree, right);
  }
  // Or on an ancestor of one of them: an owner that covers more than the range covers its first leaf or its last one,
  // or lies within it and was found above.
  for (size_t node = low + tree->leaves; node > 0; node /= 2) {
    if (tree->owner[node] != UINT32_MAX) return tree->owner[node];
  }
  for (size_t node = high - 1 + tree->leaves; node > 0; node /= 2) {
    if (tree->owner[node] != UINT32_MAX) return tree->owner[node];
  }
  return UINT32_MAX;
}

static void set_node(address_tree *tree, size_t node, uint32_t owner) {
  uint32_t change = owner == UINT32_MAX ? UINT32_MAX : 1; // -1 or +1
  tree->owner[node] = owner;
  for (; node > 0; node /= 2) tree->occupied[node] += change;
}

static void set(address_tree *tree, size_t low, size_t high, uint32_t owner) {
  for (size_t left = low + tree->leaves, right = high + tree->leaves; left < right; left /= 2, right /= 2) {
    if (left & 1) set_node(tree, left++, owner);
    if (right & 1) set_node(tree, --right, owner);
  }
}

static bool build(address_tree *tree, const weir__stream *stream, size_t *out_end_count) {
  size_t count = 0;
  tree->ends = malloc(2 * (size_t)stream->buffer_count * sizeof *tree->ends);
  if (!tree->ends) return false;
  for (uint32_t i = 0; i < stream->buffer_count; i++) {
    tree->ends[count++] = stream->buffers[i].address;
    tree->ends[count++] = stream->buffers[i].address + stream->buffers[i].bytes;
  }
  qsort(tree->ends, count, sizeof *tree->ends, compare_addresses);
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    if (kept == 0 || tree->ends[i] != tree->ends[kept - 1]) tree->ends[kept++] = tree->ends[i];
  }
  *out_end_count = kept;
  for (tree->leaves = 1; tree->leaves < kept;) tree->leaves *= 2;
  tree->owner = malloc(2 * tree->leaves * sizeof *tree->owner);
  tree->occupied = calloc(2 * tree->leaves, sizeof *tree->occupied);
  if (!tree->owner || !tree->occupied) return false;
  memset(tree->owner, 0xff, 2 * tree->leaves * sizeof *tree->owner);
  return true;
}

static bool place(weir__stream_reader *reader, address_tree *tree, size_t end_count, uint32_t index) {
  const weir__stream_buffer *buffer = &reader->stream->buffers[index];
  size_t low = leaf_of(tree, end_count, buffer->address);
  size_t high = leaf_of(tree, end_count, buffer->address + buffer->bytes);
  uint32_t other = find(tree, low, high);
  if (other != UINT32_MAX) {
    const weir__stream_buffer *there = &reader->stream->buffers[other];
    reader->line = buffer->line;
    return weir__stream_fail(reader,
                             "buffer %" PRIu64 " at [%" PRIu64 ", %" PRIu64 ") overlaps buffer %" PRIu64 " at [%" PRIu64
                             ", %" PRIu64 ") of line %" PRIu32 ", which is not freed",
                             buffer->id, buffer->address, buffer->address + buffer->bytes, there->id, there->address,
                             there->address + there->bytes, there->line);
  }
  set(tree, low, high, index);
  return true;
}

bool weir__stream_check_addresses(weir__stream_reader *reader) {
  const weir__stream *stream = reader->stream;
  address_tree tree = {0};
  size_t end_count = 0;
  if (stream->buffer_count == 0) return true;
  bool good = build(&tree, stream, &end_count);
  if (!good) weir__stream_no_memory(reader);
  for (uint32_t i = 0; good && i < stream->event_count; i++) {
    const weir__stream_event *event = &stream->events[i];
    if (event->kind == WEIR__STREAM_BUFFER) good = place(reader, &tree, end_count, event->index);
    for (uint32_t k = 0; event->kind == WEIR__STREAM_FREE && k < event->count; k++) {
      const weir__stream_buffer *buffer = &stream->buffers[stream->freed[event->index + k]];
      set(&tree, leaf_of(&tree, end_count, buffer->address), leaf_of(&tree, end_count, buffer->address + buffer->bytes),
          UINT32_MAX);
    }
  }
  free(tree.ends);
  free(tree.owner);
  free(tree.occupied);
  return good;
}
