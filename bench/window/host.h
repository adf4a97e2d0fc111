// SPDX-License-Identifier: Apache-2.0
//
// Hazards found by the host: by Weir's own index, alone and as a part of submission.
#ifndef WEIR_BENCH_WINDOW_HOST_H
#define WEIR_BENCH_WINDOW_HOST_H

#include "cases.h"
#include "weir/weir.h"

enum { WINDOW_HOST_EDGES = 32 };

// The predecessors of a task in flight: how many, and the first ones. Tasks count from 0.
typedef struct window_host_list {
  uint32_t count, edges[WINDOW_HOST_EDGES];
} window_host_list;

// The program of a case with lengths made small: whatever overlaps still does, and whatever is whole still is. Where nothing is renamed
// it is one buffer with all addresses.
typedef struct window_host {
  const window_case *which;
  uint64_t *bytes; // of each buffer
  uint32_t buffer_count;
  weir__plan_access *accesses; // of all tasks, in their order
  weir_arg *args;              // the same; buffers are those of the context that submits
} window_host;

void window_host_open(const window_case *which, window_host *out_host);
void window_host_close(window_host *host);

// Finds the predecessors of all tasks with `live` tasks in flight, a power of two, each list without doubles: the accesses go through
// weir__buffer_access as in a submission, with fresh users where renaming gives fresh storage. Nothing else of a submission is done.
// Returns seconds for a pass over the program, a mean of several behind two untimed ones; the lists are those of the first.
double window_host_find(const window_host *host, uint32_t live, window_host_list *out_lists);

// Submits all tasks to the device `null`, which runs nothing, in a window of 1024 tasks, so often that the wait for the last ones is of
// little weight; in a context that did the same once before. `out_seconds` of each round: for all tasks once. Errors are those of the
// library.
weir_status window_host_submit(window_host *host, uint32_t rounds, double *out_seconds);

#endif // WEIR_BENCH_WINDOW_HOST_H
