// SPDX-License-Identifier: Apache-2.0
//
// Whether a program's batches come again, as far as their history tells. Knows how many tasks they had, and nothing of launching.
#ifndef WEIR_ISSUE_BATCH_HISTORY_H
#define WEIR_ISSUE_BATCH_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

enum {
  WEIR__TELLING_BATCH = 16,   // tasks of a batch that does not come again by chance
  WEIR__MOST_RETURNED = 512,  // tasks, as far as the history counts
  WEIR__LONG_NEW = 4096,      // tasks of batches that were all new
  WEIR__SEQUENCE_SAMPLE = 32, // tasks of a sequence that are collected all the same
  WEIR__SKIPPED_SHARE = 3,    // so many times as many are not collected then
};

typedef struct weir__batch_history {
  uint32_t returned;  // tasks of batches that came again, less those that were new: 0 to WEIR__MOST_RETURNED
  uint32_t new_tasks; // in batches since the last that came again
  uint32_t skipped;   // tasks since then that were not collected
  uint32_t telling, long_new, sample; // WEIR__TELLING_BATCH, ...
} weir__batch_history;

// A seed, for tests, has all come about in small programs; 0: none.
void weir__batch_history_initialize(weir__batch_history *history, uint64_t seed);

// A graph was looked for, for a batch. `again`: there was one in which nothing had to be set, or a large one. Small batches are
// alike by chance, and do not count.
void weir__batch_history_note(weir__batch_history *history, uint32_t count, bool again);

// The tasks of a batch were launched one by one. Where the batch was too small to be noted, it still did not come again.
void weir__batch_history_note_apart(weir__batch_history *history, uint32_t count);

// Whether most batches come again of late, so that graphs are the fastest way, and nothing should stand in their way.
bool weir__batch_history_repeats(const weir__batch_history *history);

// Whether all was new for long, so that a task need not be collected behind `taken_count` tasks of its sequence that were.
bool weir__batch_history_is_new(const weir__batch_history *history, uint64_t taken_count);

// Asks to leave a task out of the collection. False: so many were left out that all must be looked at for a while, which begins
// with weir__batch_history_sample.
bool weir__batch_history_skip(weir__batch_history *history);
void weir__batch_history_sample(weir__batch_history *history);

#endif // WEIR_ISSUE_BATCH_HISTORY_H
