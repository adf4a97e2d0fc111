// SPDX-License-Identifier: Apache-2.0
//
// Tasks that were collected for a piece, with the fewest edges between them that force their order.
#ifndef WEIR_DEVICE_CUDA_COLLECTION_H
#define WEIR_DEVICE_CUDA_COLLECTION_H

#include "device/cuda/kernel.h"

enum { WEIR__CUDA_MOST_COLLECTED = 1024, WEIR__CUDA_COLLECTED_WORDS = WEIR__CUDA_MOST_COLLECTED / 64 };

typedef struct weir__cuda_collected {
  weir__task *task;
  weir__id id;
  const weir__cuda_kernel *code;
  uint32_t first_outside, outside_count;         // of `outside`
  uint32_t first_predecessor, predecessor_count; // of `predecessors`
  uint32_t launches;
  uint32_t open_after; // tasks up to this one that no collected task waits for
  bool waited_for;
} weir__cuda_collected;

typedef struct weir__cuda_collection {
  weir__cuda_collected tasks[WEIR__CUDA_MOST_COLLECTED];
  uint64_t before[WEIR__CUDA_MOST_COLLECTED]
                 [WEIR__CUDA_COLLECTED_WORDS]; // per task: a bit for each that comes before it
  uint32_t count, open;
  uint32_t *predecessors; // indices
  weir__id *outside;      // predecessors that are not collected
  uint32_t predecessor_count, outside_count, capacity;
  uint32_t listed;      // predecessors in the lists of all tasks: so many may be outside later
  uint32_t *slot_index; // per slot of the window: index of its task
  uint32_t window;      // slots
} weir__cuda_collection;

// Makes an empty collection, which was zeroed. False: no memory.
bool weir__cuda_collection_initialize(weir__cuda_collection *collection, uint32_t window);
void weir__cuda_collection_deinitialize(weir__cuda_collection *collection);

// The index of a task, or UINT32_MAX.
static inline uint32_t weir__cuda_collection_index(const weir__cuda_collection *collection, weir__id id) {
  uint32_t index = collection->slot_index[id & (collection->window - 1)];
  return index < collection->count && collection->tasks[index].id == id ? index : UINT32_MAX;
}

// Adds a task. There is room for WEIR__CUDA_MOST_COLLECTED. False: no memory; not after a clear for tasks that were there.
bool weir__cuda_collection_append(weir__cuda_collection *collection, weir__task *task);

static inline void weir__cuda_collection_clear(weir__cuda_collection *collection) {
  collection->count = collection->predecessor_count = collection->outside_count = collection->open = 0;
  collection->listed = 0;
}

#endif // WEIR_DEVICE_CUDA_COLLECTION_H
