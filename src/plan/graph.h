// SPDX-License-Identifier: Apache-2.0
//
// A directed acyclic graph of tasks in compressed rows: for each task its predecessors.
//
// Tasks are numbered in program order, so that every predecessor is smaller than its task: program order is a
// topological order, and one pass over the tasks is enough for most questions.
#ifndef WEIR_PLAN_GRAPH_H
#define WEIR_PLAN_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "weir/weir.h"

typedef struct weir__plan_edge {
  uint32_t predecessor, successor;
} weir__plan_edge;

typedef struct weir__plan_graph {
  uint32_t task_count;
  uint64_t *first;        // task_count + 1: the predecessors of task t are predecessors[first[t]] up to, not including,
  uint32_t *predecessors; // predecessors[first[t + 1]], in ascending order, each once
} weir__plan_graph;

// Builds a graph from edges in any order; an edge that comes several times is kept once. On failure the graph is empty
// (all zero). Errors: INVALID_ARGUMENT (a predecessor that is not smaller than its successor, or a successor that is
// not a task), OUT_OF_MEMORY. O(tasks + edges).
weir_status weir__plan_graph_build(uint32_t task_count, const weir__plan_edge *edges, size_t edge_count,
                                   weir__plan_graph *out_graph);

// Frees what the graph holds and leaves it empty. An empty graph is allowed.
void weir__plan_graph_free(weir__plan_graph *graph);

static inline uint64_t weir__plan_graph_edge_count(const weir__plan_graph *graph) {
  return graph->first ? graph->first[graph->task_count] : 0;
}

#endif // WEIR_PLAN_GRAPH_H
