// SPDX-License-Identifier: Apache-2.0
//
// Graphs of up to six tasks as numbers: bit t * (t - 1) / 2 + p is the edge from task p to task t; and larger ones at random.
#ifndef WEIR_TESTS_BARRIERS_DAG_H
#define WEIR_TESTS_BARRIERS_DAG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/graph.h"

enum { DAG_TASKS = 6, DAG_PAIRS = DAG_TASKS * (DAG_TASKS - 1) / 2, DAG_COUNT = 1 << DAG_PAIRS };

static inline uint32_t dag_edge(uint32_t predecessor, uint32_t task) {
  return UINT32_C(1) << (task * (task - 1) / 2 + predecessor);
}

// The predecessors of a task as a set of bits.
static inline uint32_t dag_predecessors(uint32_t dag, uint32_t task) {
  return task == 0 ? 0 : dag >> (task * (task - 1) / 2) & ((UINT32_C(1) << task) - 1);
}

// The storage of a graph of a dag; filled anew by each call of dag_graph.
typedef struct dag_rows {
  uint64_t first[DAG_TASKS + 1];
  uint32_t predecessors[DAG_PAIRS];
} dag_rows;

static inline weir__plan_graph dag_graph(uint32_t dag, uint32_t task_count, dag_rows *rows) {
  uint32_t count = 0;
  for (uint32_t t = 0; t < task_count; t++) {
    rows->first[t] = count;
    for (uint32_t p = 0; p < t; p++) {
      if (dag & dag_edge(p, t)) rows->predecessors[count++] = p;
    }
  }
  rows->first[task_count] = count;
  return (weir__plan_graph){task_count, rows->first, rows->predecessors};
}

static inline uint32_t dag_from(const weir__plan_graph *graph) {
  uint32_t dag = 0;
  for (uint32_t t = 0; t < graph->task_count; t++) {
    for (uint64_t e = graph->first[t]; e < graph->first[t + 1]; e++) dag |= dag_edge(graph->predecessors[e], t);
  }
  return dag;
}

static inline uint64_t next_random(uint64_t *seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed;
}

// Each task waits for up to `most` of the `reach` tasks before it.
static inline weir__plan_graph random_graph(uint32_t task_count, uint32_t reach, uint32_t most, uint64_t seed) {
  weir__plan_edge *edges = malloc((size_t)task_count * most * sizeof *edges);
  size_t count = 0;
  assert_non_null(edges);
  for (uint32_t t = 1; t < task_count; t++) {
    for (uint64_t n = next_random(&seed) % (most + 1); n > 0; n--)
      edges[count++] = (weir__plan_edge){t - 1 - (uint32_t)(next_random(&seed) % (t < reach ? t : reach)), t};
  }
  weir__plan_graph graph;
  assert_int_equal(weir__plan_graph_build(task_count, edges, count, &graph), WEIR_OK);
  free(edges);
  return graph;
}

#endif // WEIR_TESTS_BARRIERS_DAG_H
