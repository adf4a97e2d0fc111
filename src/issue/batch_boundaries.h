// SPDX-License-Identifier: Apache-2.0
//
// Where a sequence of tasks is cut into batches, so that tasks that come again are cut as they were before. Knows the kinds of
// tasks and how many are open, and nothing of launching.
//
// A sequence begins when the device was idle, or when the tasks repeat an earlier beginning. While a beginning is new, batches
// are small, because making their graphs takes time, and the first one is launched as soon as the beginning is known to be new.
// Once it was met before, they grow from batch to batch, so that the first one starts early and few ends hold the rest up.
// Boundaries are moved to where few tasks are open. All of it depends on the tasks alone and not on time, so that it repeats
// when they do.
#ifndef WEIR_ISSUE_BATCH_BOUNDARIES_H
#define WEIR_ISSUE_BATCH_BOUNDARIES_H

#include "issue/collection.h"

enum {
  WEIR__LARGEST_BATCH = 512,
  WEIR__BEGINNING_TASKS = 8, // by which a beginning is known
  WEIR__BEGINNINGS = 1024,
};

typedef struct weir__batch_boundaries {
  uint64_t history;     // of the kinds of the last WEIR__BEGINNING_TASKS tasks
  uint64_t taken_count; // tasks of this sequence that went in batches
  uint64_t beginning;   // of this sequence; 0: not known yet
  uint32_t target;      // tasks of the next batch, about
  uint32_t largest, lookahead;
  bool known; // the beginning was met before
  struct {
    uint64_t hash; // 0: none
    uint32_t times;
  } beginnings[WEIR__BEGINNINGS];
} weir__batch_boundaries;

void weir__batch_boundaries_initialize(weir__batch_boundaries *boundaries, uint32_t window);

// A task will be collected, which runs code of that kind: any number that stands for it.
void weir__batch_boundaries_note(weir__batch_boundaries *boundaries, const weir__task *task, uint64_t kind);

// After a task was collected: how many of the first tasks are a batch now; 0: none yet. `*out_ends`: the tasks that remain
// begin the sequence anew.
uint32_t weir__batch_boundaries_find(weir__batch_boundaries *boundaries, const weir__collection *collection,
                                     bool *out_ends);

// `count` tasks went as a batch.
void weir__batch_boundaries_taken(weir__batch_boundaries *boundaries, uint32_t count);

// The sequence ends here, whatever comes: `collected` tasks remain to go before the next one begins.
void weir__batch_boundaries_close(weir__batch_boundaries *boundaries, uint32_t collected);
void weir__batch_boundaries_end(weir__batch_boundaries *boundaries);

#endif // WEIR_ISSUE_BATCH_BOUNDARIES_H
