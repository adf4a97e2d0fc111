// SPDX-License-Identifier: Apache-2.0
//
// The tasks that hazards are looked for in: what each reads and writes.
#ifndef WEIR_BENCH_WINDOW_CASES_H
#define WEIR_BENCH_WINDOW_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/hazards.h"

enum { WINDOW_CASE_RANGES = 8 }; // of a task at most

// A range of memory, [lo, hi), as a card sees it.
typedef struct window_memory {
  uint64_t lo, hi;
} window_memory;

typedef struct window_case_task {
  uint32_t ranges, writes; // of the ranges the first ones are written
  window_memory range[WINDOW_CASE_RANGES];
} window_case_task;

typedef struct window_case {
  char name[64];
  bool renames;               // a write of a whole buffer begins a new version of it, in memory of its own
  uint32_t most_ranges;       // of any of its tasks
  weir__plan_program program; // as the host is told
  weir__plan_graph graph;     // its hazards, without those that renaming removes
  window_case_task *tasks;    // as the card is told
} window_case;

// The first graph of weir-bench-layers of a width, of tasks of 1 us.
void window_case_layers(uint32_t tasks, uint32_t width, window_case *out_case);

// Random parts of one memory, a third of them written, so many that a task conflicts with about one in 128.
void window_case_random(uint32_t tasks, uint32_t ranges, uint64_t seed, window_case *out_case);

// A recorded stream: by its buffers, which are renamed, or by addresses. False: it cannot be read, or has tasks with more ranges than
// there is room for; a message was printed.
bool window_case_stream(const char *path, bool renames, window_case *out_case);

void window_case_free(window_case *which);

// The predecessors of a task among the `live` tasks before it, the oldest first. `out_numbers` has room for as many. Returns how many.
// Tasks count from 0.
uint32_t window_case_predecessors(const window_case *which, uint32_t task, uint32_t live, uint32_t *out_numbers);

#endif // WEIR_BENCH_WINDOW_CASES_H
