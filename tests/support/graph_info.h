// SPDX-License-Identifier: Apache-2.0
//
// What a graph tells of itself, for assertions.
#ifndef WEIR_TESTS_GRAPH_INFO_H
#define WEIR_TESTS_GRAPH_INFO_H

#include "weir/graph.h"

// All is 0 where the graph is refused.
static inline weir_graph_info graph_info(weir_graph *graph) {
  weir_graph_info info;
  (void)weir_graph_information(graph, &info);
  return info;
}

// Its edges, once it is built; 0 where it cannot be built.
static inline uint64_t graph_edges(weir_graph *graph) {
  (void)weir_graph_build(graph);
  return graph_info(graph).edges;
}

#endif // WEIR_TESTS_GRAPH_INFO_H
