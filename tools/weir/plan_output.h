// SPDX-License-Identifier: Apache-2.0
//
// What `weir plan` shows of a plan besides its table: why a task waits, and the graph as a drawing.
#ifndef WEIR_TOOLS_WEIR_PLAN_OUTPUT_H
#define WEIR_TOOLS_WEIR_PLAN_OUTPUT_H

#include <jansson.h>

#include "plan/stream_plan.h"

// Why a task waits, in words on stdout, or as an object. `task` is one of the stream's. The first returns an exit
// code, the second NULL when there is no memory.
int weir__plan_print_why(const weir__stream_plan *plan, uint32_t task);
json_t *weir__plan_why_json(const weir__stream_plan *plan, uint32_t task);

// Writes the reduced graph for Graphviz. Returns an exit code; what went wrong is said on stderr.
int weir__plan_write_dot(const weir__stream_plan *plan, const char *path);

// The hazards of a task with its predecessors: items [*out_first, *out_end) of the plan's hazards.
void weir__plan_hazards_of(const weir__stream_plan *plan, uint32_t task, size_t *out_first, size_t *out_end);

// Whether a graph has an edge.
bool weir__plan_has_edge(const weir__plan_graph *graph, uint32_t predecessor, uint32_t successor);

// How much later a task could start without making the critical path longer; never negative.
double weir__plan_slack_us(const weir__stream_plan *plan, uint32_t task);

#endif // WEIR_TOOLS_WEIR_PLAN_OUTPUT_H
