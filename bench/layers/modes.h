// SPDX-License-Identifier: Apache-2.0
//
// The ways in which a graph's tasks get to the device.
#ifndef WEIR_BENCH_LAYERS_MODES_H
#define WEIR_BENCH_LAYERS_MODES_H

#include "layers.h"

enum { LAYER_MODES = 5 };

typedef struct layer_mode {
  const char *name, *about;
  weir_issue issue;
  uint32_t flags;
  bool recorded; // as a weir_graph, which is made beforehand
} layer_mode;

extern const layer_mode layer_modes[LAYER_MODES];

// What a graph took, in seconds.
typedef struct layer_times {
  double submit; // the calls that submit all tasks, or launch the recorded graph
  double total;  // from the first of them until all is done
  double build;  // of a recorded graph: recording it, and its first launch
} layer_times;

// Runs a graph that the context has not seen before, and checks what it wrote: `out_wrong` columns differ from serial execution.
weir_status layer_mode_run(const layer_mode *mode, layer_tasks *tasks, const layer_graph *graph, layer_times *out_times,
                           uint32_t *out_wrong);

// Submits the graph's first task and waits for its event: seconds of one such round, a mean of `times`.
weir_status layer_mode_wait(layer_tasks *tasks, const layer_graph *graph, uint32_t times, double *out_seconds);

#endif // WEIR_BENCH_LAYERS_MODES_H
