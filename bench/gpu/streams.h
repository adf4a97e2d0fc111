// SPDX-License-Identifier: Apache-2.0
//
// A recorded stream as the peers replay it: one launch per recorded kernel, and the order they need.
#ifndef WEIR_BENCH_GPU_STREAMS_H
#define WEIR_BENCH_GPU_STREAMS_H

#include <stdbool.h>

#include "plan/graph.h"
#include "plan/hazards.h"
#include "stream/stream.h"
#include "timing.h"

struct gpu_spin_launch;

// Kernels of a task follow each other in a chain; the first one waits for the last ones of the tasks before. A task
// without kernels is one block that does nothing. Where the host waited is left out: a graph cannot do that.
typedef struct gpu_program {
  char *name;
  uint32_t task_count, count; // tasks, launches
  weir__stream *stream;
  const weir__stream_kernel **kernels; // of each launch; NULL: it does nothing
  struct gpu_spin_launch *launches;    // on a CUDA card, see gpu_program_shape(); else NULL
  bool *last;                          // whether a launch is the last one of its task
  weir__plan_graph address;            // launches, hazards between addresses; without edges that others imply
  weir__plan_graph buffer;             // the same between logical buffers
  double kernel_us;                    // recorded
  double limit_us;                     // the longer of the critical path by buffer and the work bound
} gpu_program;

// Reads a stream for a card of `sms` multiprocessors. Ends the program with a message when it cannot.
void gpu_program_read(const char *path, uint32_t sms, gpu_program *out_program);
void gpu_program_free(gpu_program *program);

// The order of a stream's tasks, without edges that others imply. Ends the program when it cannot.
void gpu_task_graph(const weir__stream *stream, weir__plan_mode mode, weir__plan_graph *out_graph);

#endif // WEIR_BENCH_GPU_STREAMS_H
