// SPDX-License-Identifier: Apache-2.0
//
// Nodes of a CUgraph of somebody else's, as steps of graphs (weir/adopt.h).
//
// DESIGN. Each node is copied once into a graph of Weir's that has no edges and is never launched, and from there into
// each executable graph, with the edges that the plan has. The driver copies parameters and attributes by itself, so
// that nothing need be known of them. Nodes of the kind OTHER are not copied; graphs that have them can only be
// relaxed. A clone of the whole graph is kept beside them, for what the graph owns.
#ifndef WEIR_DEVICE_CUDA_GRAPH_ADOPTED_H
#define WEIR_DEVICE_CUDA_GRAPH_ADOPTED_H

#include "device/cuda/cuda_device.h"
#include "weir/adopt.h"

// A function, as its nodes show it.
typedef struct weir__cuda_adopted_function {
  CUfunction function;
  char *name;
  uint32_t parameter_count; // UINT32_MAX: the driver does not tell
  uint32_t *parameter_bytes;
} weir__cuda_adopted_function;

typedef struct weir__cuda_adopted weir__cuda_adopted;

typedef struct weir__cuda_adopted_node {
  weir__cuda_adopted *of;
  weir_cuda_node_kind kind;
  CUgraphNode node;     // the copy; NULL for the kind OTHER
  uint32_t function;    // of a kernel: its number in `of`
  bool attributes;      // of a kernel: only a graph can launch it as it is
  uint8_t access_count; // UINT8_MAX: not known
  CUgraphExec alone;    // of the node alone, for launches one by one; NULL: none yet. Guarded by `of->lock`
  weir_cuda_access accesses[2];
} weir__cuda_adopted_node;

struct weir__cuda_adopted {
  weir_cuda_nodes given; // what the caller sees; the first member
  weir__graph_source source;
  weir__cuda_device *device;
  CUgraph read;         // the caller's graph, which may be gone; for those who say that it is there (weir/relax.h)
  CUgraph graph, clone; // the copies; the caller's graph. `clone` is NULL if the driver cannot clone that graph
  const char *refusal;  // what the first node does that keeps a graph of Weir's from having it; NULL: there is none
  uint32_t refused;     // that node
  weir__lock lock;      // of `graph`
  uint32_t count, capacity;
  weir_cuda_node *nodes;
  weir__cuda_adopted_node *own; // per node
  uint32_t function_count, function_capacity;
  weir__cuda_adopted_function *functions;
  uint32_t *slots; // open addressing: numbers of functions, plus 1; 2 * function_capacity of them
};

static inline weir__cuda_adopted *weir__cuda_adopted_of(const weir_cuda_nodes *nodes) {
  return (weir__cuda_adopted *)(uintptr_t)nodes;
}

// weir_cuda_nodes_read. The source has one reference.
weir_status weir__cuda_adopted_read(weir__cuda_device *device, CUgraph graph, weir__cuda_adopted **out_adopted);

// The graph's nodes, each behind its predecessors; a chain's as it is. The caller frees the array.
weir_status weir__cuda_nodes_in_order(const weir__cuda_driver *driver, CUgraph graph, CUgraphNode **out_nodes,
                                      size_t *out_count);

// What a copy or a set accesses, if its memory has addresses: `out_accesses` gets what is written, and for a copy what is
// read. False: it has not.
bool weir__cuda_copy_accesses(const CUDA_MEMCPY3D *copy, weir_cuda_access out_accesses[2]);
void weir__cuda_set_accesses(const CUDA_MEMSET_NODE_PARAMS *set, weir_cuda_access *out_access);

// What follows is called with the device's context current.

// Copies a node of this kind into a graph, behind nodes of that. The driver leaves it to its callers that a graph is used by
// one thread at a time.
CUresult weir__cuda_copy_node(const weir__cuda_device *device, weir_cuda_node_kind kind, CUgraphNode from,
                              CUgraph graph, const CUgraphNode *before, size_t count, CUgraphNode *out_node);

// The same for a node that was read. From here on the copies are guarded by their lock, which graphs that adopted the same
// nodes share.
CUresult weir__cuda_adopted_add(weir__cuda_adopted_node *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                CUgraphNode *out_node);

// Launches the node by itself. `prepare` makes what that needs, and is called by it.
CUresult weir__cuda_adopted_prepare(weir__cuda_adopted_node *node);
CUresult weir__cuda_adopted_launch(weir__cuda_adopted_node *node, CUstream stream);

#endif // WEIR_DEVICE_CUDA_GRAPH_ADOPTED_H
