// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/graph/segments.h"

#include "base/allocate.h"

static bool make_one(weir__cuda_segments *segments, const weir__plan_graph *order) {
  segments->list = weir__allocate_zeroed(sizeof *segments->list);
  if (segments->list == NULL) return false;
  segments->count = 1;
  segments->list[0].count = order->task_count;
  segments->first = order->first;
  segments->predecessors = order->predecessors;
  return true;
}

// Per node: twice its depth, and one more if it goes apart. Returns one more than the greatest.
static uint32_t find_keys(const weir__plan_graph *order, const bool *apart, uint32_t *keys) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < order->task_count; i++) {
    keys[i] = 0;
    for (uint64_t j = order->first[i]; j < order->first[i + 1]; j++) {
      uint32_t deeper = (keys[order->predecessors[j]] + 1) / 2 * 2; // behind one that goes apart
      if (deeper > keys[i]) keys[i] = deeper;
    }
    keys[i] += apart[i];
    if (keys[i] >= count) count = keys[i] + 1;
  }
  return count;
}

// Sorts nodes by key, and within that by number. `starts`: scratch, two more than there are keys. `places`: per node.
static void sort(weir__cuda_segments *segments, const weir__plan_graph *order, const uint32_t *keys, uint32_t key_count,
                 uint32_t *starts, uint32_t *places) {
  for (uint32_t i = 0; i < key_count + 2; i++) starts[i] = 0;
  for (uint32_t i = 0; i < order->task_count; i++) starts[keys[i] + 2]++;
  for (uint32_t i = 2; i < key_count + 2; i++) starts[i] += starts[i - 1];
  for (uint32_t i = 0; i < order->task_count; i++) {
    places[i] = starts[keys[i] + 1]++;
    segments->nodes[places[i]] = i;
  }
  for (uint32_t i = 0; i < key_count; i++) {
    if (starts[i] == starts[i + 1]) continue;
    segments->list[segments->count++] =
        (weir__cuda_segment){.first = starts[i], .count = starts[i + 1] - starts[i], .apart = i % 2 != 0};
  }
}

static void keep_edges(weir__cuda_segments *segments, const weir__plan_graph *order, const uint32_t *keys,
                       const uint32_t *places) {
  uint64_t at = 0;
  for (uint32_t s = 0; s < segments->count; s++) {
    const weir__cuda_segment *segment = &segments->list[s];
    for (uint32_t place = segment->first; place < segment->first + segment->count; place++) {
      uint32_t node = segments->nodes[place];
      segments->own_first[place] = at;
      for (uint64_t j = order->first[node]; j < order->first[node + 1]; j++) {
        uint32_t before = order->predecessors[j];
        if (keys[before] == keys[node]) segments->own_predecessors[at++] = places[before] - segment->first;
      }
    }
  }
  segments->own_first[order->task_count] = at;
  segments->first = segments->own_first;
  segments->predecessors = segments->own_predecessors;
}

bool weir__cuda_segments_make(weir__cuda_segments *segments, const weir__plan_graph *order, const bool *apart) {
  size_t count = order->task_count, edges = weir__plan_graph_edge_count(order);
  *segments = (weir__cuda_segments){0};
  if (apart == NULL) return make_one(segments, order);
  uint32_t *keys = weir__allocate((2 * count + 1) * sizeof *keys);
  segments->nodes = weir__allocate(count * sizeof *segments->nodes);
  segments->own_first = weir__allocate((count + 1) * sizeof *segments->own_first);
  segments->own_predecessors = weir__allocate((edges + 1) * sizeof *segments->own_predecessors);
  bool good =
      keys != NULL && segments->nodes != NULL && segments->own_first != NULL && segments->own_predecessors != NULL;
  uint32_t key_count = good ? find_keys(order, apart, keys) : 0;
  uint32_t *starts = weir__allocate((key_count + 2) * sizeof *starts);
  segments->list = weir__allocate((key_count + 1) * sizeof *segments->list);
  good = good && starts != NULL && segments->list != NULL;
  if (good) {
    sort(segments, order, keys, key_count, starts, keys + count);
    keep_edges(segments, order, keys, keys + count);
  }
  weir__free(keys);
  weir__free(starts);
  return good;
}

void weir__cuda_segments_free(weir__cuda_segments *segments) {
  weir__free(segments->list);
  weir__free(segments->nodes);
  weir__free(segments->own_first);
  weir__free(segments->own_predecessors);
  *segments = (weir__cuda_segments){0};
}
