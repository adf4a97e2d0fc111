// SPDX-License-Identifier: Apache-2.0
//
// A recorded stream as the peers replay it: one launch of the spin kernel per recorded kernel, and the order they need.
#ifndef WEIR_BENCH_GPU_STREAMS_H
#define WEIR_BENCH_GPU_STREAMS_H

#include <stdbool.h>

#include "plan/graph.h"
#include "spin.h"
#include "stream/stream.h"
#include "timing.h"

// Kernels of a task follow each other in a chain; the first one waits for the last ones of the tasks before. A task
// without kernels is one block that does nothing. Where the host waited is left out: a graph cannot do that.
typedef struct gpu_program {
  char *name;
  uint32_t task_count, count; // tasks, launches
  gpu_spin_launch *launches;
  bool *last;               // whether a launch is the last one of its task
  uint32_t *chains;         // the first launch of its task
  weir__plan_graph address; // launches, hazards between addresses; without edges that others imply
  weir__plan_graph buffer;  // the same between logical buffers
  double kernel_us;         // recorded
  double limit_us;          // the longer of the critical path by buffer and the work bound
} gpu_program;

// Reads a stream for a card of `sms` multiprocessors. Ends the program with a message when it cannot.
void gpu_program_read(const char *path, uint32_t sms, gpu_program *out_program);
void gpu_program_free(gpu_program *program);

// Times `runs` calls of `pass(argument)`, each from an idle card until the card is idle again, after three that do not
// count.
gpu_stat gpu_time(uint32_t runs, void (*pass)(void *argument), void *argument);

#endif // WEIR_BENCH_GPU_STREAMS_H
