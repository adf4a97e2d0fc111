// SPDX-License-Identifier: Apache-2.0
#include "issue/batch_boundaries.h"

enum {
  FIRST_BATCH = 8,
  NEW_BATCH = 32,   // of a beginning that is new
  AGAIN_BATCH = 64, // of a sequence that begins again while the one before it runs
  GROWTH = 3,
  WINDOW_SHARE = 4,   // a batch is at most this part of the window
  LARGE_WINDOW = 256, // from here on tasks are kept, to see whether a beginning comes again
  LOOKED_AT = 8,
};

static void set_target(weir__batch_boundaries *boundaries, uint32_t target) {
  boundaries->target = target < boundaries->largest ? target : boundaries->largest;
}

void weir__batch_boundaries_initialize(weir__batch_boundaries *boundaries, uint32_t window) {
  uint32_t share = window / WINDOW_SHARE;
  boundaries->largest = share < WEIR__LARGEST_BATCH ? share : WEIR__LARGEST_BATCH;
  boundaries->lookahead = window >= LARGE_WINDOW ? WEIR__BEGINNING_TASKS : 0;
  set_target(boundaries, FIRST_BATCH);
}

void weir__batch_boundaries_note(weir__batch_boundaries *boundaries, const weir__task *task, uint64_t kind) {
  kind += 0x9e3779b97f4a7c15u * task->arg_count;
  kind ^= (uint64_t)task->groups[0] << 40 ^ (uint64_t)task->groups[1] << 20 ^ task->groups[2];
  kind *= 0xff51afd7ed558ccdu;
  kind ^= kind >> 32;
  boundaries->history = boundaries->history << (64 / WEIR__BEGINNING_TASKS) ^ kind;
}

// The first tasks of a sequence are there: was it met before?
static void begin(weir__batch_boundaries *boundaries) {
  uint64_t hash = boundaries->history | 1; // of as many tasks as there are, if they are few
  uint64_t at = hash % WEIR__BEGINNINGS;
  for (uint32_t i = 0; i < LOOKED_AT; i++) {
    uint64_t next = (hash + i) % WEIR__BEGINNINGS;
    if (boundaries->beginnings[next].hash != hash && boundaries->beginnings[next].hash != 0) continue;
    at = next;
    break;
  }
  if (boundaries->beginnings[at].hash != hash) {
    boundaries->beginnings[at].hash = hash;
    boundaries->beginnings[at].times = 0;
  }
  boundaries->known = boundaries->beginnings[at].times++ > 0;
  boundaries->beginning = hash;
  set_target(boundaries, FIRST_BATCH);
}

void weir__batch_boundaries_end(weir__batch_boundaries *boundaries) {
  boundaries->taken_count = 0;
  boundaries->beginning = boundaries->history = 0;
  set_target(boundaries, FIRST_BATCH);
}

void weir__batch_boundaries_close(weir__batch_boundaries *boundaries, uint32_t collected) {
  if (collected > 0 && boundaries->beginning == 0) begin(boundaries);
}

// Whether the last tasks are those with which this sequence began.
static bool begins_again(const weir__batch_boundaries *boundaries, uint32_t count) {
  return boundaries->taken_count + count >= 2 * WEIR__BEGINNING_TASKS && count >= WEIR__BEGINNING_TASKS &&
         (boundaries->history | 1) == boundaries->beginning;
}

uint32_t weir__batch_boundaries_find(weir__batch_boundaries *boundaries, const weir__collection *collection,
                                     bool *out_ends) {
  uint32_t count = collection->count;
  uint32_t lookahead = boundaries->lookahead;
  *out_ends = false;
  if (boundaries->beginning == 0 && count == WEIR__BEGINNING_TASKS) {
    begin(boundaries);
    if (!boundaries->known) lookahead = 0; // nothing came before that could begin again
  } else if (boundaries->beginning != 0 && begins_again(boundaries, count)) {
    uint64_t history = boundaries->history;
    weir__batch_boundaries_end(boundaries);
    boundaries->history = history;
    begin(boundaries);
    set_target(boundaries, AGAIN_BATCH);
    *out_ends = true;
    return count - WEIR__BEGINNING_TASKS;
  }
  uint32_t first = boundaries->target - boundaries->target / 4, last = boundaries->target;
  if (first == 0) first = 1;
  if (last > boundaries->largest) last = boundaries->largest > first ? boundaries->largest : first;
  if (count < last + lookahead) return 0;
  // Where the fewest tasks are open.
  uint32_t best = first;
  for (uint32_t cut = first; cut <= last; cut++) {
    if (collection->tasks[cut - 1].open_after <= collection->tasks[best - 1].open_after) best = cut;
  }
  return best;
}

void weir__batch_boundaries_taken(weir__batch_boundaries *boundaries, uint32_t count) {
  boundaries->taken_count += count;
  set_target(boundaries, boundaries->known ? boundaries->target * GROWTH : NEW_BATCH);
}
