// SPDX-License-Identifier: Apache-2.0
//
// Tasks that are collected for a batch, in the order of submission, with the fewest edges between them that force their order.
#ifndef WEIR_ISSUE_COLLECTION_H
#define WEIR_ISSUE_COLLECTION_H

#include "window/task.h"

enum { WEIR__MOST_COLLECTED = 1024, WEIR__COLLECTED_WORDS = WEIR__MOST_COLLECTED / 64 };

typedef struct weir__collected {
  weir__task *task;
  weir__id id;
  const void *code;                              // the kernel's, which only the device can read
  uint32_t first_outside, outside_count;         // of `outside`
  uint32_t first_predecessor, predecessor_count; // of `predecessors`
  uint32_t launches;
  uint32_t open_after; // tasks up to this one that no collected task waits for
  bool waited_for;
} weir__collected;

typedef struct weir__collection {
  weir__collected tasks[WEIR__MOST_COLLECTED];
  uint64_t before[WEIR__MOST_COLLECTED][WEIR__COLLECTED_WORDS]; // per task: a bit for each that comes before it
  uint32_t count, open;
  uint32_t *predecessors; // indices
  weir__id *outside;      // predecessors that are not collected
  uint32_t predecessor_count, outside_count, capacity;
  uint32_t listed;      // predecessors in the lists of all tasks: so many may be outside later
  uint32_t *slot_index; // per slot of the window: index of its task
  uint32_t window;      // slots
} weir__collection;

// Makes an empty collection, which was zeroed. False: no memory.
bool weir__collection_initialize(weir__collection *collection, uint32_t window);
void weir__collection_deinitialize(weir__collection *collection);

// The index of a task, or UINT32_MAX.
static inline uint32_t weir__collection_index(const weir__collection *collection, weir__id id) {
  uint32_t index = collection->slot_index[id & (collection->window - 1)];
  return index < collection->count && collection->tasks[index].id == id ? index : UINT32_MAX;
}

// Adds a task, whose code has so many launches. There is room for WEIR__MOST_COLLECTED. False: no memory, which cannot happen
// after a clear for tasks that were there.
bool weir__collection_append(weir__collection *collection, weir__task *task, uint32_t launches);

static inline void weir__collection_clear(weir__collection *collection) {
  collection->count = collection->predecessor_count = collection->outside_count = collection->open = 0;
  collection->listed = 0;
}

#endif // WEIR_ISSUE_COLLECTION_H
