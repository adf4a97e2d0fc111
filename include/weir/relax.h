// SPDX-License-Identifier: Apache-2.0
//
// Relaxed graphs: a CUgraph that somebody captured in one stream keeps its nodes, which then wait only where they must.
//
// The caller instantiates and launches the graph by itself, in its own streams. Where launches are to be in order with
// other tasks of Weir, or to be seen in its timelines, weir/adopt.h makes a recorded graph instead.
#ifndef WEIR_RELAX_H
#define WEIR_RELAX_H

#include "weir/adopt.h"

#ifdef __cplusplus
extern "C" {
#endif

// Gives the CUgraph that nodes were read from other edges: a node waits for those nodes before it, in the order of the
// list, with whose accesses its own conflict, and for no node that another of these waits for anyway. A node that
// nobody describes, and that Weir does not know, comes after all nodes before it and before all nodes after it. The
// body of a conditional node is a graph of its own, which may be relaxed by itself. `options` is as for
// weir_cuda_graph_adopt, and may be NULL; of its members `buffers`, `labels`, `queue` and `timing` must not be set.
// `*out_edges` (may be NULL) gets the number of edges. The graph must still be there, with the nodes that were read.
//
// A launch of the graph gives the result of its nodes one at a time, if each accesses no more than is said of it. The
// function does not wait, and nobody may use the graph meanwhile. Executable graphs that were made before stay as they
// are. Tasks of the context are not affected.
// Errors, after which the graph has its own edges, unless the text says otherwise: as weir_cuda_graph_adopt;
// INVALID_ARGUMENT (a graph with child graphs; another member of `options` is set); UNAVAILABLE (the driver lacks a
// function, which the text names).
WEIR_API weir_status weir_cuda_graph_relax_sized(const weir_cuda_nodes *nodes, const weir_cuda_adopt_options *options,
                                                 size_t options_size, uint64_t *out_edges);
static inline weir_status weir_cuda_graph_relax(const weir_cuda_nodes *nodes_, const weir_cuda_adopt_options *options_,
                                                uint64_t *out_edges_) {
  return weir_cuda_graph_relax_sized(nodes_, options_, sizeof *options_, out_edges_);
}

#ifdef __cplusplus
}
#endif
#endif // WEIR_RELAX_H
