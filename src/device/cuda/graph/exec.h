// SPDX-License-Identifier: Apache-2.0
//
// Executable graphs of the driver's, made of steps: tasks of a batch, or nodes of a recorded graph. An executable graph is
// made for a topology; functions, sizes and parameters can be set anew for each launch, which costs much less than making
// one. Called with the device's context current; an executable graph is used by one thread at a time.
#ifndef WEIR_DEVICE_CUDA_GRAPH_EXEC_H
#define WEIR_DEVICE_CUDA_GRAPH_EXEC_H

#include "device/cuda/cuda_device.h"
#include "issue/graph_cache.h"

// Bytes that are copied, or filled with a pattern, instead of launches of a kernel.
typedef struct weir__cuda_bytes {
  bool fill;
  bool from_host, to_host; // the caller's memory, or what stands in for it, is at this end
  uint64_t count;
  void *const *args; // where to; where from, or where the 4 bytes of the pattern are
} weir__cuda_bytes;

// Where a copy is from: an address; or a fill's pattern.
uint64_t weir__cuda_bytes_source(const weir__cuda_bytes *bytes);

// One task as it is to be launched: the launches of a kernel, one after another.
typedef struct weir__cuda_step {
  const weir__cuda_kernel *kernel; // no launches: the step only keeps the order
  const uint32_t *groups;
  void **parameters; // addresses of the parameters
  uint32_t parameter_count;
  const uint32_t *predecessors; // earlier steps
  uint32_t predecessor_count;
  const weir__cuda_bytes
      *bytes; // not NULL: these instead of a kernel; only in graphs that are not compared with others
  struct weir__cuda_adopted_node
      *adopted;                      // not NULL: a copy of this node, and no launches of a kernel; it never changes
  struct weir__cuda_call_step *call; // the same for an enqueue function (capture.h), in an executable graph
  struct weir__enqueue *enqueue;     // of a batch's task that is one, not NULL before it is in any
  const weir__task *task;            // that task
} weir__cuda_step;

// An executable graph, and what is set in it now.
typedef struct weir__cuda_exec {
  weir__cached_graph head; // the cache's, but for the number of launches
  CUgraph graph;
  CUgraphExec exec;
  uint32_t step_count, edge_count;
  struct weir__cuda_exec_step *steps;
  struct weir__cuda_exec_launch *launches;
  struct weir__cuda_exec_mover *movers; // launches that copy and fill
  uint32_t mover_count;
  struct weir__cuda_call_step
      *calls;      // per step, of a batch with enqueue functions; NULL: none, or they are the plan's. Owned
  uint32_t set;    // of their lanes
  uint32_t unpaid; // the owner's: calls for which the graph was made, until it is launched again
  bool outgrown;   // something went by a kernel that does not reach it any more
  uint32_t *edges;
  CUevent *marks;                       // two per step: its start and its end, for timelines; else NULL
  unsigned char *bytes;                 // parameters as they are set now
  const struct weir__cuda_queue *queue; // the owner's: of the last launch; NULL: none
  uint64_t number;                      // the owner's: of the last launch, in its queue
} weir__cuda_exec;

enum {
  WEIR__CUDA_EXEC_MARKS = 1, // with events for timelines
  WEIR__CUDA_EXEC_MOVES = 2, // small copies and fills by a kernel, where it reaches them; called by the device's thread
};

// Makes an executable graph of steps and sets everything as the steps say. `order`: in which steps are added, each after what it
// comes after (weir__cuda_assign_lanes); NULL: as they are, of which none has a lane. CUDA_ERROR_OUT_OF_MEMORY also stands for the host's
// memory. On failure `*out_exec` is NULL.
CUresult weir__cuda_exec_create(weir__cuda_device *device, const weir__cuda_step *steps, const uint32_t *order,
                                uint32_t count, uint32_t flags, weir__cuda_exec **out_exec);
void weir__cuda_exec_destroy(weir__cuda_device *device, weir__cuda_exec *exec);

// Whether the steps have the topology that the graph was made for.
bool weir__cuda_exec_fits(const weir__cuda_exec *exec, const weir__cuda_step *steps, uint32_t count);

// How much of what is set now the steps, which fit, have in common with the graph.
weir__graph_likeness weir__cuda_exec_likeness(const weir__cuda_device *device, const weir__cuda_exec *exec,
                                              const weir__cuda_step *steps);

// Sets what differs from the steps, which fit; `changed`, per step: whether it may differ, or NULL: any may. Launches in
// flight are not affected. `*out_set` counts launches that were set. After a failure the executable graph is of no more
// use; exec->outgrown: one without WEIR__CUDA_EXEC_MOVES would be.
CUresult weir__cuda_exec_set(weir__cuda_device *device, weir__cuda_exec *exec, const weir__cuda_step *steps,
                             const bool *changed, uint32_t *out_set);

#endif // WEIR_DEVICE_CUDA_GRAPH_EXEC_H
