// SPDX-License-Identifier: Apache-2.0
//
// What the hazard index is compared with: the same bookkeeping done naively, byte by byte, over a window of 64 tasks.
// A set of tasks is a mask of their slots.
#ifndef WEIR_TESTS_MODEL_H
#define WEIR_TESTS_MODEL_H

#include "weir/weir.h"
#include "window/range_map.h"

enum { MODEL_WINDOW = 64, MODEL_MAX_BYTES = 256, MODEL_NO_WRITER = 0xff };

// The tasks of a window: which are live, and which come before which.
typedef struct model_tasks {
  weir__liveness live;
  uint8_t done[MODEL_WINDOW];
  weir__id next;
  uint64_t live_mask;
  uint64_t before[MODEL_WINDOW]; // live tasks that are ordered before the one in the slot, also through others
} model_tasks;

typedef struct model_buffer {
  uint32_t bytes;
  uint8_t writer[MODEL_MAX_BYTES];   // slot of the last writer if it is live
  uint64_t readers[MODEL_MAX_BYTES]; // live tasks that read the byte since, before the set of tasks that commute on it
  uint64_t former[MODEL_MAX_BYTES];  // live tasks that commuted on it before the set
  uint64_t set[MODEL_MAX_BYTES];     // live tasks of the set
  uint64_t after[MODEL_MAX_BYTES];   // live tasks that read what the set left
  bool poisoned[MODEL_MAX_BYTES];
  bool commutes[MODEL_MAX_BYTES]; // there was a set since the last writer
} model_buffer;

void model_tasks_initialize(model_tasks *tasks);
bool model_tasks_full(const model_tasks *tasks);
weir__id model_tasks_begin(model_tasks *tasks);

// A random task in flight; 0: there is none.
weir__id model_tasks_pick(const model_tasks *tasks, uint64_t random);

void model_initialize(model_buffer *model, uint32_t bytes);

// Compares the dependences of one access with what the bytes say, then records the access. The dependences must be live tasks in
// conflict; they must put the task after every task in conflict, directly or through others; data predecessors and
// poison must be exact.
void model_access(model_buffer *model, model_tasks *tasks, weir__id task, weir_mode mode, uint64_t lo, uint64_t hi,
                  const weir__dependences *dependences);

// The task is done; if it failed, what it was the last to write is poisoned. The index must have been told before.
void model_finish(model_buffer *model, model_tasks *tasks, weir__id task, bool failed);

// Compares a segment, and a whole map, with the bytes. The map must cover the buffer with ordered disjoint segments.
void model_check_segment(const model_buffer *model, const model_tasks *tasks, uint64_t lo, uint64_t hi,
                         const weir__segment *segment);
void model_check_map(const model_buffer *model, const model_tasks *tasks, const weir__range_map *map);

#endif // WEIR_TESTS_MODEL_H
