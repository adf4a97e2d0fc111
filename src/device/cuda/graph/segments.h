// SPDX-License-Identifier: Apache-2.0
//
// Segments of a recorded graph, for graphs with nodes that cannot be part of an executable graph: enqueue functions
// that must not be captured, or cannot be. A segment is one executable graph, or nodes that go apart, each by a call.
// Segments follow each other in one queue.
//
// DESIGN. A node is as deep as there are nodes on a path to it that go apart. Segments are, in turn, all other nodes of
// a depth and all nodes of that depth that go apart. So each node is as early as it can be in a sequence, which has the
// fewest segments that there can be: two for each depth. What is independent of the nodes that go apart is in the first
// segment, and the card has it to do while the host makes the calls.
#ifndef WEIR_DEVICE_CUDA_GRAPH_SEGMENTS_H
#define WEIR_DEVICE_CUDA_GRAPH_SEGMENTS_H

#include <stdbool.h>

#include "plan/graph.h"

struct weir__cuda_exec;

typedef struct weir__cuda_segment {
  uint32_t first, count;            // places of its nodes
  bool apart;                       // they are called one by one, and none comes after another
  struct weir__cuda_exec *exec;     // the user's, as all that follows: what is launched; NULL: not made yet, or apart
  struct weir__cuda_exec *outgrown; // the one before, whose launches may be in flight; NULL: none
  bool by_nodes;                    // the last launch was: its nodes one by one
} weir__cuda_segment;

typedef struct weir__cuda_segments {
  uint32_t count;
  weir__cuda_segment *list;
  uint32_t *nodes; // by place: the node; NULL: its place is its number
  // By place, and one more: the edges to places of the same segment, counted from its first one.
  const uint64_t *first;
  const uint32_t *predecessors;
  uint64_t *own_first; // NULL: the edges are those of the order
  uint32_t *own_predecessors;
} weir__cuda_segments;

// Splits what an order has, which must stay; `apart`: per node; NULL: none, and there is one segment. False: no memory;
// what there is is freed by weir__cuda_segments_free.
bool weir__cuda_segments_make(weir__cuda_segments *segments, const weir__plan_graph *order, const bool *apart);
void weir__cuda_segments_free(weir__cuda_segments *segments); // a zeroed one is allowed

static inline uint32_t weir__cuda_segments_node(const weir__cuda_segments *segments, uint32_t place) {
  return segments->nodes != NULL ? segments->nodes[place] : place;
}

#endif // WEIR_DEVICE_CUDA_GRAPH_SEGMENTS_H
