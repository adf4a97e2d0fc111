// SPDX-License-Identifier: Apache-2.0
//
// The edges of a CUgraph.
#ifndef WEIR_DEVICE_CUDA_GRAPH_EDGES_H
#define WEIR_DEVICE_CUDA_GRAPH_EDGES_H

#include "device/cuda/cuda_device.h"

typedef struct weir__cuda_edges {
  size_t count;
  CUgraphNode *from, *to;
  CUgraphEdgeData *data; // NULL: plain ones
} weir__cuda_edges;

// Room for edges. False: no memory.
bool weir__cuda_edges_allocate(weir__cuda_edges *edges, size_t count);
void weir__cuda_edges_free(weir__cuda_edges *edges);

// Gives a graph these edges in place of its own. On failure it has its own, unless the text says otherwise. The device's
// context is current.
weir_status weir__cuda_edges_replace(const weir__cuda_driver *driver, CUgraph graph, const weir__cuda_edges *edges);

#endif // WEIR_DEVICE_CUDA_GRAPH_EDGES_H
