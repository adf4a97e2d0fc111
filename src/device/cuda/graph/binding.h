// SPDX-License-Identifier: Apache-2.0
//
// Which arguments of a recorded graph its executable graph has, so that a launch sets only what has changed since the last one.
#ifndef WEIR_DEVICE_CUDA_GRAPH_BINDING_H
#define WEIR_DEVICE_CUDA_GRAPH_BINDING_H

#include "device/graph.h"

typedef struct weir__cuda_binding {
  void **args;           // as the executable graph has them
  unsigned char *values; // the same
  bool *changed;         // per node: since they were set
  bool known;            // `args` and `values` hold
  uint64_t stamp;        // of the run that they are from
} weir__cuda_binding;

// For launches of a plan. False: no memory; what there is is freed by weir__cuda_binding_free.
bool weir__cuda_binding_create(weir__cuda_binding *binding, const weir__graph_plan *plan);
void weir__cuda_binding_free(weir__cuda_binding *binding);

// Takes over the arguments of a run and marks the nodes for which they are not those that were known. Returns how many.
uint32_t weir__cuda_binding_take(weir__cuda_binding *binding, const weir__graph_run *run);

// Whoever could not set what has changed forgets it.
void weir__cuda_binding_forget(weir__cuda_binding *binding);

#endif // WEIR_DEVICE_CUDA_GRAPH_BINDING_H
