// SPDX-License-Identifier: Apache-2.0
//
// Launches of graphs that are in flight: each has an event, whether or not the caller asked for one. The graph lists them,
// and operations are told of their end. All is guarded by the context's lock.
#ifndef WEIR_GRAPH_FLIGHT_H
#define WEIR_GRAPH_FLIGHT_H

#include "engine/submission.h"
#include "graph/graph.h"

typedef struct weir__operation {
  weir_operation calls;
  uint32_t first_node; // nodes that the graph had before it recorded
} weir__operation;

// The operations of a graph, shared with its launches. Grows, and is never changed otherwise.
typedef struct weir__operations {
  uint32_t references;
  uint32_t count, capacity;
  weir__operation *list;
} weir__operations;

// Gives up a reference. The last one destroys the operations, for which the lock is released meanwhile. NULL is allowed.
void weir__operations_drop(weir_context *context, weir__operations *operations);

// Tells the first `count` operations of a launch's outcome. The lock is released meanwhile.
void weir__operations_after(weir_graph *graph, const weir__operations *operations, uint32_t count, weir_status status);

// weir_graph_launch. `evaluates`: its failure is the caller's business.
weir_status weir__graph_launch(weir_graph *graph, bool evaluates, weir_event **out_event);

// The same of a graph that is valid, for whom `by` says, with the lock held before and after.
weir_status weir__graph_launch_held(weir_graph *graph, const weir__submission *by, bool evaluates,
                                    weir_event **out_event);

// The launch `run` whose event this is was submitted. A reference of `operations` (may be NULL) goes to it.
void weir__flight_begin(weir__graph_run *run, weir_event *event, weir__operations *operations,
                        uint32_t operation_count);

// Whether no older launch of the graph has bytes for the caller's memory, or this one has none: so such launches come to
// their ends in order, and what a later one leaves in the caller's memory stays.
bool weir__flight_is_next(const weir_event *event);

// What is left to do for a launch whose outcome is known: its bytes for the caller's memory are put there, if that was not
// done before, and its operations are told. The lock is released meanwhile.
void weir__flight_tell(weir_event *event);

// The launch is done, and its operations were told.
void weir__flight_end(weir_event *event);

#endif // WEIR_GRAPH_FLIGHT_H
