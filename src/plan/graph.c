// SPDX-License-Identifier: Apache-2.0
#include "plan/graph.h"

#include <string.h>

#include "base/allocate.h"
#include "base/error.h"

void weir__plan_graph_free(weir__plan_graph *graph) {
  weir__free(graph->first);
  weir__free(graph->predecessors);
  *graph = (weir__plan_graph){0};
}

static weir_status check_edges(uint32_t task_count, const weir__plan_edge *edges, size_t edge_count) {
  for (size_t i = 0; i < edge_count; i++) {
    if (edges[i].successor >= task_count || edges[i].predecessor >= edges[i].successor)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                         "edge %zu from task %u to task %u is not one between %u tasks in order", i,
                         edges[i].predecessor, edges[i].successor, task_count);
  }
  return WEIR_OK;
}

// Counting sort, one pass: `first` holds the rows' starts afterwards. Calls with `by_successor` false and then true sort
// by successor and, within it, by predecessor.
static void sort_edges(uint32_t task_count, const weir__plan_edge *edges, size_t edge_count, int by_successor,
                       uint64_t *first, weir__plan_edge *out_edges) {
  memset(first, 0, ((size_t)task_count + 1) * sizeof *first);
  for (size_t i = 0; i < edge_count; i++) first[(by_successor ? edges[i].successor : edges[i].predecessor) + 1]++;
  for (uint32_t t = 0; t < task_count; t++) first[t + 1] += first[t];
  for (size_t i = 0; i < edge_count; i++)
    out_edges[first[by_successor ? edges[i].successor : edges[i].predecessor]++] = edges[i];
  for (uint32_t t = task_count; t > 0; t--) first[t] = first[t - 1];
  first[0] = 0;
}

// Takes sorted edges into rows, each edge once.
static void fill_rows(const weir__plan_edge *edges, size_t edge_count, weir__plan_graph *graph) {
  uint64_t kept = 0;
  size_t next = 0;
  for (uint32_t t = 0; t < graph->task_count; t++) {
    graph->first[t] = kept;
    for (; next < edge_count && edges[next].successor == t; next++) {
      if (kept > graph->first[t] && graph->predecessors[kept - 1] == edges[next].predecessor) continue;
      graph->predecessors[kept++] = edges[next].predecessor;
    }
  }
  graph->first[graph->task_count] = kept;
}

weir_status weir__plan_graph_build(uint32_t task_count, const weir__plan_edge *edges, size_t edge_count,
                                   weir__plan_graph *out_graph) {
  *out_graph = (weir__plan_graph){0};
  weir_status status = check_edges(task_count, edges, edge_count);
  if (status != WEIR_OK) return status;

  weir__plan_graph graph = {.task_count = task_count};
  graph.first = weir__allocate(((size_t)task_count + 1) * sizeof *graph.first);
  graph.predecessors = weir__allocate((edge_count + 1) * sizeof *graph.predecessors);
  weir__plan_edge *by_predecessor = weir__allocate((edge_count + 1) * sizeof *by_predecessor);
  weir__plan_edge *sorted = weir__allocate((edge_count + 1) * sizeof *sorted);
  if (graph.first && graph.predecessors && by_predecessor && sorted) {
    sort_edges(task_count, edges, edge_count, 0, graph.first, by_predecessor);
    sort_edges(task_count, by_predecessor, edge_count, 1, graph.first, sorted);
    fill_rows(sorted, edge_count, &graph);
    *out_graph = graph;
  } else {
    weir__plan_graph_free(&graph);
    status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory for a graph of %u tasks and %zu edges", task_count,
                         edge_count);
  }
  weir__free(by_predecessor);
  weir__free(sorted);
  return status;
}
