// SPDX-License-Identifier: Apache-2.0
//
// An order in which the nodes of a CUgraph may run one at a time.
#include <stdlib.h>

#include "base/allocate.h"
#include "base/error.h"
#include "device/cuda/graph/adopted.h"

typedef struct numbered {
  CUgraphNode node;
  uint32_t number;
} numbered;

// A graph's nodes and edges. The numbers of nodes are those of `nodes`; `sorted` has them by handle.
typedef struct shape {
  CUgraphNode *nodes;
  size_t node_count, edge_count;
  CUgraphNode *from, *to;
  CUgraphEdgeData *data;
  numbered *sorted;
  uint32_t *order;   // numbers of nodes
  uint32_t *missing; // per node: predecessors that are not in the order yet
  uint32_t *first;   // per node and one more: where its successors are in `next`
  uint32_t *next;
} shape;

static void free_shape(shape *s) {
  weir__free(s->nodes);
  weir__free(s->from);
  weir__free(s->to);
  weir__free(s->data);
  weir__free(s->sorted);
  weir__free(s->order);
  weir__free(s->missing);
  weir__free(s->first);
  weir__free(s->next);
}

static bool allocate_shape(shape *s) {
  s->nodes = weir__allocate((s->node_count + 1) * sizeof *s->nodes);
  s->from = weir__allocate((s->edge_count + 1) * sizeof *s->from);
  s->to = weir__allocate((s->edge_count + 1) * sizeof *s->to);
  s->data = weir__allocate_zeroed((s->edge_count + 1) * sizeof *s->data);
  s->sorted = weir__allocate((s->node_count + 1) * sizeof *s->sorted);
  s->order = weir__allocate((s->node_count + 1) * sizeof *s->order);
  s->missing = weir__allocate_zeroed((s->node_count + 1) * sizeof *s->missing);
  s->first = weir__allocate_zeroed((s->node_count + 2) * sizeof *s->first);
  s->next = weir__allocate((s->edge_count + 1) * sizeof *s->next);
  return s->nodes != NULL && s->from != NULL && s->to != NULL && s->data != NULL && s->sorted != NULL &&
         s->order != NULL && s->missing != NULL && s->first != NULL && s->next != NULL;
}

static int by_handle(const void *left, const void *right) {
  uintptr_t a = (uintptr_t)((const numbered *)left)->node, b = (uintptr_t)((const numbered *)right)->node;
  return a < b ? -1 : a > b;
}

static uint32_t find_number(const shape *s, CUgraphNode node) {
  const numbered wanted = {.node = node}, *found = bsearch(&wanted, s->sorted, s->node_count, sizeof wanted, by_handle);
  return found == NULL ? 0 : found->number;
}

// Whether the driver's list is such an order, since it has nodes as they were made: then it stays the order, whatever
// edges the graph gets.
static bool is_listed_in_order(shape *s) {
  bool in_order = true;
  for (size_t i = 0; i < s->edge_count && in_order; i++)
    in_order = find_number(s, s->from[i]) < find_number(s, s->to[i]);
  for (uint32_t i = 0; i < s->node_count; i++) s->order[i] = i;
  return in_order;
}

// The driver's list, or each node when its predecessors are there, the first in the list first (Kahn 1962). False: a circle.
static bool find_order(shape *s) {
  uint32_t count = (uint32_t)s->node_count, ready = 0;
  uint32_t *next_of = s->first + 1;
  for (uint32_t i = 0; i < count; i++) s->sorted[i] = (numbered){s->nodes[i], i};
  qsort(s->sorted, count, sizeof *s->sorted, by_handle);
  if (is_listed_in_order(s)) return true;
  for (size_t i = 0; i < s->edge_count; i++) {
    next_of[find_number(s, s->from[i]) + 1]++;
    s->missing[find_number(s, s->to[i])]++;
  }
  for (uint32_t i = 0; i < count; i++) next_of[i + 1] += next_of[i];
  for (size_t i = 0; i < s->edge_count; i++) s->next[next_of[find_number(s, s->from[i])]++] = find_number(s, s->to[i]);
  for (uint32_t i = 0; i < count; i++)
    if (s->missing[i] == 0) s->order[ready++] = i;
  for (uint32_t i = 0; i < ready; i++) {
    uint32_t node = s->order[i];
    for (uint32_t j = s->first[node]; j < s->first[node + 1]; j++)
      if (--s->missing[s->next[j]] == 0) s->order[ready++] = s->next[j];
  }
  return ready == count;
}

static weir_status read_shape(const weir__cuda_driver *driver, CUgraph graph, shape *s) {
  CUresult result = driver->cuGraphGetNodes(graph, NULL, &s->node_count);
  if (result == CUDA_SUCCESS) result = driver->cuGraphGetEdges(graph, NULL, NULL, NULL, &s->edge_count);
  if (result != CUDA_SUCCESS) return weir__cuda_error(driver, result, "adopt: the graph's nodes");
  if (s->node_count > UINT32_MAX / 8 || s->edge_count > UINT32_MAX / 8 || !allocate_shape(s))
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "adopt: no memory for %zu nodes and %zu edges", s->node_count,
                       s->edge_count);
  result = driver->cuGraphGetNodes(graph, s->nodes, &s->node_count);
  if (result == CUDA_SUCCESS && s->edge_count > 0)
    result = driver->cuGraphGetEdges(graph, s->from, s->to, s->data, &s->edge_count);
  if (result != CUDA_SUCCESS) return weir__cuda_error(driver, result, "adopt: the graph's edges");
  if (find_order(s)) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "adopt: the edges of the graph's nodes are in a circle");
}

weir_status weir__cuda_nodes_in_order(const weir__cuda_driver *driver, CUgraph graph, CUgraphNode **out_nodes,
                                      size_t *out_count) {
  shape s = {0};
  weir_status status = read_shape(driver, graph, &s);
  *out_nodes = NULL;
  *out_count = s.node_count;
  if (status == WEIR_OK) {
    CUgraphNode *nodes = weir__allocate((s.node_count + 1) * sizeof *nodes);
    for (size_t i = 0; nodes != NULL && i < s.node_count; i++) nodes[i] = s.nodes[s.order[i]];
    if (nodes == NULL) status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "adopt: no memory for %zu nodes", s.node_count);
    *out_nodes = nodes;
  }
  free_shape(&s);
  return status;
}
