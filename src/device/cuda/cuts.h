// SPDX-License-Identifier: Apache-2.0
//
// Where a sequence of tasks is cut into pieces, so that what comes again is cut as it was before: see pieces.h. Knows the
// kinds of tasks and how many are open, and nothing of launching.
#ifndef WEIR_DEVICE_CUDA_CUTS_H
#define WEIR_DEVICE_CUDA_CUTS_H

#include "device/cuda/collection.h"

enum {
  WEIR__CUDA_LARGEST_PIECE = 512,
  WEIR__CUDA_BEGINNING = 8, // tasks by which a beginning is known
  WEIR__CUDA_BEGINNINGS = 1024,
};

typedef struct weir__cuda_cuts {
  uint64_t history;   // of the kinds of the last WEIR__CUDA_BEGINNING tasks
  uint64_t cut_count; // tasks of this sequence that were cut off
  uint64_t beginning; // of this sequence; 0: not known yet
  uint32_t target;    // tasks of the next piece, about
  uint32_t largest, held;
  bool known; // the beginning was met before
  struct {
    uint64_t hash; // 0: none
    uint32_t times;
  } beginnings[WEIR__CUDA_BEGINNINGS];
} weir__cuda_cuts;

void weir__cuda_cuts_initialize(weir__cuda_cuts *cuts, uint32_t window);

// A task will be collected.
void weir__cuda_cuts_note(weir__cuda_cuts *cuts, const weir__task *task);

// After a task was collected: how many of the first tasks are a piece now; 0: none yet. `*out_ends`: the tasks that remain
// begin the sequence anew.
uint32_t weir__cuda_cuts_find(weir__cuda_cuts *cuts, const weir__cuda_collection *collection, bool *out_ends);

// `count` tasks were cut off.
void weir__cuda_cuts_done(weir__cuda_cuts *cuts, uint32_t count);

// The sequence ends here, whatever comes: `collected` tasks remain to be cut off before the next one begins.
void weir__cuda_cuts_close(weir__cuda_cuts *cuts, uint32_t collected);
void weir__cuda_cuts_end(weir__cuda_cuts *cuts);

#endif // WEIR_DEVICE_CUDA_CUTS_H
