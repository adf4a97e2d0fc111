// SPDX-License-Identifier: Apache-2.0
//
// Launches of graphs that are in flight: each has an event, whether or not the caller asked for one. The graph lists them,
// and has a part in the ends of their events. All is guarded by the context's lock.
#ifndef WEIR_GRAPH_FLIGHT_H
#define WEIR_GRAPH_FLIGHT_H

#include "engine/submission.h"
#include "graph/graph.h"

// weir_graph_launch. `out_number` (may be NULL) gets the number of the launch, whose failure is then the caller's business.
weir_status weir__graph_submit(weir_graph *graph, uint64_t *out_number, weir_event **out_event);

// The same of a graph that is valid, for whom `by` says, with the lock held before and after.
weir_status weir__graph_submit_held(weir_graph *graph, const weir__submission *by, uint64_t *out_number,
                                    weir_event **out_event);

// Launches a graph of Weir's own if it need not wait. `out_event` may be NULL. False: it was not launched. The lock is held.
bool weir__graph_launch_now(weir_graph *graph, weir_event **out_event);

// The launch was submitted, and has this event.
void weir__flight_begin(weir__graph_launch *launch, weir_event *event);

#endif // WEIR_GRAPH_FLIGHT_H
