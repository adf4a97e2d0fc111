// SPDX-License-Identifier: Apache-2.0
//
// Launches in the context's queue (engine/queue.h): what a graph is while some of its launches are there.
#ifndef WEIR_GRAPH_QUEUED_H
#define WEIR_GRAPH_QUEUED_H

#include "engine/queue.h"
#include "graph/graph.h"

// Queues a launch that must wait and must not. `more`, `more_bytes` and `enter` are as for weir__queue_add; the graph stays as
// it is until the launch has entered or failed. The lock is held.
weir_status weir__graph_queue(weir_graph *graph, const weir__submission *submission, weir__queued_enter enter,
                              weir__queued_left left, const void *more, size_t more_bytes, weir_event **out_event);

// Waits until no launch of the graph is queued, since it is to be changed. `what` names the call in messages. The lock is held
// before and after, not meanwhile.
// Errors: OUT_OF_MEMORY (in a task or callback, which must not wait).
weir_status weir__graph_settle(weir_graph *graph, const char *what);

#endif // WEIR_GRAPH_QUEUED_H
