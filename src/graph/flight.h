// SPDX-License-Identifier: Apache-2.0
//
// Launches of graphs that are in flight: each has an event, whether or not the caller asked for one. The graph lists
// them. All is guarded by the context's lock.
#ifndef WEIR_GRAPH_FLIGHT_H
#define WEIR_GRAPH_FLIGHT_H

#include "engine/submission.h"
#include "graph/graph.h"

// weir_graph_launch. `evaluates`: its failure is the caller's business.
weir_status weir__graph_launch(weir_graph *graph, bool evaluates, weir_event **out_event);

// The same of a graph that is valid, for whom `by` says, with the lock held before and after.
weir_status weir__graph_launch_held(weir_graph *graph, const weir__submission *by, bool evaluates,
                                    weir_event **out_event);

// The launch `run` whose event this is was submitted.
void weir__flight_begin(weir__graph_run *run, weir_event *event);

// Whether no older launch of the graph has bytes for the caller's memory, as this one has: so such launches come to
// their ends in order, and what a later one leaves in the caller's memory stays.
bool weir__flight_is_next(const weir_event *event);

// Puts the bytes of a launch whose outcome is known into the caller's memory, if that was not done before. The lock is
// released meanwhile.
void weir__flight_bring_bytes(weir_event *event);

// The launch is done, and its bytes are in the caller's memory.
void weir__flight_end(weir_event *event);

#endif // WEIR_GRAPH_FLIGHT_H
