// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuts.h"

enum {
  FIRST_PIECE = 8,
  NEW_PIECE = 32,   // of a beginning that is new
  AGAIN_PIECE = 64, // of a sequence that begins again while the one before it runs
  GROWTH = 3,
  WINDOW_SHARE = 4,   // a piece is at most this part of the window
  LARGE_WINDOW = 256, // from here on tasks are held back, to see whether a beginning comes again
  LOOKED_AT = 8,
};

static void set_target(weir__cuda_cuts *cuts, uint32_t target) {
  cuts->target = target < cuts->largest ? target : cuts->largest;
}

void weir__cuda_cuts_initialize(weir__cuda_cuts *cuts, uint32_t window) {
  uint32_t share = window / WINDOW_SHARE;
  cuts->largest = share < WEIR__CUDA_LARGEST_PIECE ? share : WEIR__CUDA_LARGEST_PIECE;
  cuts->held = window >= LARGE_WINDOW ? WEIR__CUDA_BEGINNING : 0;
  set_target(cuts, FIRST_PIECE);
}

void weir__cuda_cuts_note(weir__cuda_cuts *cuts, const weir__task *task) {
  uint64_t kind = (uintptr_t)task->code + 0x9e3779b97f4a7c15u * task->arg_count;
  kind ^= (uint64_t)task->groups[0] << 40 ^ (uint64_t)task->groups[1] << 20 ^ task->groups[2];
  kind *= 0xff51afd7ed558ccdu;
  kind ^= kind >> 32;
  cuts->history = cuts->history << (64 / WEIR__CUDA_BEGINNING) ^ kind;
}

// The first tasks of a sequence are there: was it met before?
static void begin(weir__cuda_cuts *cuts) {
  uint64_t hash = cuts->history | 1; // of as many tasks as there are, if they are few
  uint64_t at = hash % WEIR__CUDA_BEGINNINGS;
  for (uint32_t i = 0; i < LOOKED_AT; i++) {
    uint64_t next = (hash + i) % WEIR__CUDA_BEGINNINGS;
    if (cuts->beginnings[next].hash != hash && cuts->beginnings[next].hash != 0) continue;
    at = next;
    break;
  }
  if (cuts->beginnings[at].hash != hash) {
    cuts->beginnings[at].hash = hash;
    cuts->beginnings[at].times = 0;
  }
  cuts->known = cuts->beginnings[at].times++ > 0;
  cuts->beginning = hash;
  set_target(cuts, FIRST_PIECE);
}

void weir__cuda_cuts_end(weir__cuda_cuts *cuts) {
  cuts->cut_count = 0;
  cuts->beginning = cuts->history = 0;
  set_target(cuts, FIRST_PIECE);
}

void weir__cuda_cuts_close(weir__cuda_cuts *cuts, uint32_t collected) {
  if (collected > 0 && cuts->beginning == 0) begin(cuts);
}

// Whether the last tasks are those with which this sequence began.
static bool begins_again(const weir__cuda_cuts *cuts, uint32_t count) {
  return cuts->cut_count + count >= 2 * WEIR__CUDA_BEGINNING && count >= WEIR__CUDA_BEGINNING &&
         (cuts->history | 1) == cuts->beginning;
}

uint32_t weir__cuda_cuts_find(weir__cuda_cuts *cuts, const weir__cuda_collection *collection, bool *out_ends) {
  uint32_t count = collection->count;
  *out_ends = false;
  if (cuts->beginning == 0 && count == WEIR__CUDA_BEGINNING) {
    begin(cuts);
  } else if (cuts->beginning != 0 && begins_again(cuts, count)) {
    uint64_t history = cuts->history;
    weir__cuda_cuts_end(cuts);
    cuts->history = history;
    begin(cuts);
    set_target(cuts, AGAIN_PIECE);
    *out_ends = true;
    return count - WEIR__CUDA_BEGINNING;
  }
  uint32_t first = cuts->target - cuts->target / 4, last = cuts->target;
  if (first == 0) first = 1;
  if (last > cuts->largest) last = cuts->largest > first ? cuts->largest : first;
  if (count < last + cuts->held) return 0;
  // Where the fewest tasks are open.
  uint32_t best = first;
  for (uint32_t cut = first; cut <= last; cut++) {
    if (collection->tasks[cut - 1].open_after <= collection->tasks[best - 1].open_after) best = cut;
  }
  return best;
}

void weir__cuda_cuts_done(weir__cuda_cuts *cuts, uint32_t count) {
  cuts->cut_count += count;
  set_target(cuts, cuts->known ? cuts->target * GROWTH : NEW_PIECE);
}
