// SPDX-License-Identifier: Apache-2.0
//
// The tasks of a recorded stream as what a queue runs: one command for each kernel, copy or memset.
#ifndef WEIR_TOOLS_WEIR_PLAN_DISPATCHES_H
#define WEIR_TOOLS_WEIR_PLAN_DISPATCHES_H

#include "plan/barriers_states.h"
#include "plan/graph.h"
#include "plan/stream_plan.h"

// A storage that a buffer has: a buffer whose hazards vanish by renaming has several, one after another.
typedef struct weir__dispatch_resource {
  uint32_t buffer;  // of the stream
  uint32_t storage; // 0 is its first one
} weir__dispatch_resource;

typedef struct weir__dispatches {
  uint32_t count;
  uint32_t *tasks;         // per dispatch: its task
  uint32_t *kernels;       // per dispatch: which kernel of its task
  double *times_us;        // per dispatch: recorded
  double *works_us;        // per dispatch: that times the part of the device that it occupies
  weir__plan_graph graph;  // of dispatches
  weir__barrier_uses uses; // per dispatch
  uint64_t *first_use;     // what `uses` points at
  weir__barrier_use *use_items;
  weir__dispatch_resource *resources;
} weir__dispatches;

// Cuts the tasks of a plan into dispatches. The kernels of a task run one after another, so each waits for the one
// before; the first waits for the last ones of the task's predecessors. A task without kernels is one dispatch that
// takes no time. What a task accesses each of its dispatches is taken to access, a copy or memset as copies do, others
// as shaders do. On failure `out_dispatches` is empty. Errors: OUT_OF_MEMORY.
weir_status weir__dispatches_create(const weir__stream_plan *plan, weir__dispatches *out_dispatches);

void weir__dispatches_free(weir__dispatches *dispatches);

#endif // WEIR_TOOLS_WEIR_PLAN_DISPATCHES_H
