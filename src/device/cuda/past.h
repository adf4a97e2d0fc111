// SPDX-License-Identifier: Apache-2.0
//
// Whether a program's pieces come again, as far as its past tells. Knows how many tasks they had, and nothing of launching.
#ifndef WEIR_DEVICE_CUDA_PAST_H
#define WEIR_DEVICE_CUDA_PAST_H

#include <stdbool.h>
#include <stdint.h>

enum {
  WEIR__CUDA_TELLING = 16,        // tasks of a piece that does not come again by chance
  WEIR__CUDA_MOST_RETURNED = 512, // tasks, as far as the past counts
  WEIR__CUDA_LONG_NEW = 4096,     // tasks of pieces that were all new
  WEIR__CUDA_LOOKED_AT = 32,      // tasks of a sequence that are collected all the same
  WEIR__CUDA_BLIND_SHARE = 3,     // so many times as many are not looked at then
};

typedef struct weir__cuda_past {
  uint32_t returned;  // tasks of pieces that came again, less those that were new: 0 to WEIR__CUDA_MOST_RETURNED
  uint32_t new_tasks; // in pieces since the last that came again
  uint32_t blind;     // tasks since then that were not collected
  uint32_t telling, long_new, looked_at; // WEIR__CUDA_TELLING, ...
} weir__cuda_past;

// A seed, for tests, has all come about in small programs; 0: none.
void weir__cuda_past_initialize(weir__cuda_past *past, uint64_t seed);

// A piece was looked for. `again`: there was a graph of it in which nothing had to be set, or a large one. Small pieces are alike by
// chance, and do not count.
void weir__cuda_past_note(weir__cuda_past *past, uint32_t count, bool again);

// The tasks of a piece were launched one by one: where it was too small to be noted, it still was none that came again.
void weir__cuda_past_note_apart(weir__cuda_past *past, uint32_t count);

// Whether most pieces come again of late, so that graphs are the fastest way, and nothing should stand in their way.
bool weir__cuda_past_repeats(const weir__cuda_past *past);

// Whether all was new for long, so that a task need not be collected behind `cut_count` tasks of its sequence that were.
bool weir__cuda_past_is_new(const weir__cuda_past *past, uint64_t cut_count);

// A task is not to be collected. False: it is, for so many were not that all are looked at for a while.
bool weir__cuda_past_skip(weir__cuda_past *past);
void weir__cuda_past_look(weir__cuda_past *past);

#endif // WEIR_DEVICE_CUDA_PAST_H
