// SPDX-License-Identifier: Apache-2.0
//
// Enqueue functions (device/enqueue.h) as parts of executable graphs: their queue is captured.
//
// DESIGN. A function is captured straight into the graph that is being built, behind the nodes that its step comes
// after, where the driver can; the work is then as good as nodes of Weir's own. To begin or end a capture into a graph
// may take the driver time with the size of that graph, so that as many captures as calls would take time with its
// square. So a session has one capture, which moves from call to call: between them what comes next in the queue is set
// to come after other nodes, and nodes of Weir's own are added to the graph meanwhile, as the driver allows. When a later launch has other
// arguments, what was captured cannot be told from the rest of the graph. So a step for which that happens becomes a
// child graph, once, in a graph that is made anew: a child is replaced by one call, and children that were captured
// for other arguments are kept, since overwritten buffers go round among few storages. A function is called again
// only for arguments that are not kept.
//
// Lanes: graphs have lanes of their own, in sets. A graph has the lanes of one set. Steps with the same lane are in
// order, by edges of their own where nothing else orders them, and launches of graphs with the same set are in order,
// by an event.
#ifndef WEIR_DEVICE_CUDA_GRAPH_CAPTURE_H
#define WEIR_DEVICE_CUDA_GRAPH_CAPTURE_H

#include "device/cuda/cuda_device.h"
#include "device/enqueue.h"

enum { WEIR__CUDA_VARIANTS = 8, WEIR__CUDA_WHY_BYTES = 160 };

#define WEIR__CUDA_NO_STEP UINT32_MAX

// What a function put on its queue for some arguments.
typedef struct weir__cuda_variant {
  unsigned char *key; // the arguments; owned, like the graph
  uint64_t key_bytes;
  CUgraph graph;   // NULL: nothing
  uint64_t serial; // of all variants of the call
} weir__cuda_variant;

// A step of a graph that is a call of an enqueue function.
typedef struct weir__cuda_call_step {
  weir__enqueue *enqueue;
  const weir__task *task; // whose arguments it has now; NULL:
  weir__graph_run *run;   // this run's, and its node there
  uint32_t node;
  uint32_t lane;
  uint32_t after; // the step before it in its lane, if no edge puts that before this one; else WEIR__CUDA_NO_STEP
  bool child;     // it is, or is to be, a child graph
  weir__cuda_variant variants[WEIR__CUDA_VARIANTS];
  uint32_t variant_count, next_variant, current;
  uint64_t serials;
  bool failed;        // in a capture
  uint64_t *captured; // counts its calls in captures, with those of others
  char *why;          // WEIR__CUDA_WHY_BYTES: what went wrong
} weir__cuda_call_step;

// The set for another graph: they are taken in turn.
uint32_t weir__cuda_take_set(weir__cuda_device *device);

// Gives calls of a graph their lanes, those of a set. `first`, per step and one more, and `predecessors`: the edges, from
// earlier steps. `calls`, per step: `enqueue` NULL is no call. `out_order` (`count` long) gets the steps in an order in which each
// comes after its predecessors and after the one before it in its lane, which may be a later step. False: no memory.
bool weir__cuda_assign_lanes(weir__cuda_device *device, weir__cuda_call_step *calls, uint32_t count,
                             const uint64_t *first, const uint32_t *predecessors, uint32_t set, uint32_t *out_order);

// Around a launch that uses the lanes of a set, in a stream. The device's context is current.
CUresult weir__cuda_begin_set(weir__cuda_device *device, uint32_t set, CUstream stream);
CUresult weir__cuda_end_set(weir__cuda_device *device, uint32_t set, CUstream stream);
void weir__cuda_sets_destroy(weir__cuda_device *device);

// Whether the driver can capture at all, and whether straight into a graph.
bool weir__cuda_can_capture(const weir__cuda_device *device);
bool weir__cuda_can_capture_straight(const weir__cuda_device *device);

// Calls that are captured into a graph that is being built, one after another, by one thread. Until the end, or a failure,
// the device captures for nobody else. Zeroed but for the first two.
typedef struct weir__cuda_session {
  weir__cuda_device *device;
  CUgraph *graph;                         // NULL in there: it may be gone
  CUgraphNode ends[WEIR__CUDA_SET_LANES]; // per lane: of the last call since the capture began; NULL: none
  weir__cuda_call_step *last;
  CUstreamCaptureMode mode; // the thread's, outside
  bool entered, capturing;
} weir__cuda_session;

// Captures the call behind nodes of the graph. `*out_end`: the node after which its work is done. A failure says why, and
// the graph is of no use then.
CUresult weir__cuda_session_capture(weir__cuda_session *session, weir__cuda_call_step *call, CUgraphNode *before,
                                    size_t count, CUgraphNode *out_end);

// After the last call, also after a failure, and before a call is captured otherwise; more calls may follow. A failure
// says why, and the graph is of no use then.
CUresult weir__cuda_session_end(weir__cuda_session *session);

// Makes the variant for the call's arguments the current one: it is captured if it is not kept.
CUresult weir__cuda_choose_variant(weir__cuda_device *device, weir__cuda_call_step *call);

// Whether the current variant is for the arguments of a task.
bool weir__cuda_call_is_for(const weir__cuda_call_step *call, const weir__task *task);

// Frees the variants. The device's context is current, or the graphs are left to it.
void weir__cuda_call_free(weir__cuda_device *device, weir__cuda_call_step *call, bool entered);

#endif // WEIR_DEVICE_CUDA_GRAPH_CAPTURE_H
