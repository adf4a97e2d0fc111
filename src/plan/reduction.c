// SPDX-License-Identifier: Apache-2.0
//
// An edge from p to t is implied when p is an ancestor of another predecessor of t. The ancestors of all tasks are a
// matrix of bits, which for 100,000 tasks would take more than a gigabyte; it is worked through in strips of
// STRIP_TASKS ancestors, each computed in one pass over the tasks.
#include "plan/reduction.h"

#include <string.h>

#include "base/allocate.h"
#include "base/error.h"

enum { STRIP_WORDS = 16, STRIP_TASKS = STRIP_WORDS * 64 };

typedef struct strip_row {
  uint64_t ancestors[STRIP_WORDS];
} strip_row;

// Marks the implied edges whose predecessor is in the strip [begin, begin + STRIP_TASKS). Row t - begin is that of task
// t; tasks before the strip have no ancestors in it and no row.
static void mark_implied_in_strip(const weir__plan_graph *graph, uint32_t begin, strip_row *rows, uint8_t *implied) {
  for (uint32_t t = begin; t < graph->task_count; t++) {
    strip_row *row = &rows[t - begin];
    memset(row, 0, sizeof *row);
    for (uint64_t e = graph->first[t]; e < graph->first[t + 1]; e++) {
      uint32_t predecessor = graph->predecessors[e];
      if (predecessor < begin) continue;
      const strip_row *above = &rows[predecessor - begin];
      for (uint32_t w = 0; w < STRIP_WORDS; w++) row->ancestors[w] |= above->ancestors[w];
    }
    for (uint64_t e = graph->first[t]; e < graph->first[t + 1]; e++) {
      uint32_t predecessor = graph->predecessors[e];
      if (predecessor < begin || predecessor - begin >= STRIP_TASKS) continue;
      uint32_t bit = predecessor - begin;
      uint64_t mask = UINT64_C(1) << bit % 64;
      if (row->ancestors[bit / 64] & mask) implied[e] = 1;
      row->ancestors[bit / 64] |= mask;
    }
  }
}

static void copy_kept(const weir__plan_graph *graph, const uint8_t *implied, weir__plan_graph *out_graph) {
  uint64_t kept = 0;
  for (uint32_t t = 0; t < graph->task_count; t++) {
    out_graph->first[t] = kept;
    for (uint64_t e = graph->first[t]; e < graph->first[t + 1]; e++) {
      if (!implied[e]) out_graph->predecessors[kept++] = graph->predecessors[e];
    }
  }
  out_graph->first[graph->task_count] = kept;
}

weir_status weir__plan_reduce(const weir__plan_graph *graph, weir__plan_graph *out_graph) {
  *out_graph = (weir__plan_graph){0};
  uint64_t edge_count = weir__plan_graph_edge_count(graph);
  weir__plan_graph reduced = {.task_count = graph->task_count};
  reduced.first = weir__allocate(((size_t)graph->task_count + 1) * sizeof *reduced.first);
  reduced.predecessors = weir__allocate((edge_count + 1) * sizeof *reduced.predecessors);
  uint8_t *implied = weir__allocate_zeroed(edge_count + 1);
  strip_row *rows = weir__allocate(((size_t)graph->task_count + 1) * sizeof *rows);

  weir_status status = WEIR_OK;
  if (reduced.first && reduced.predecessors && implied && rows) {
    for (uint64_t begin = 0; begin < graph->task_count; begin += STRIP_TASKS)
      mark_implied_in_strip(graph, (uint32_t)begin, rows, implied);
    copy_kept(graph, implied, &reduced);
    *out_graph = reduced;
  } else {
    weir__plan_graph_free(&reduced);
    status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory to reduce a graph of %u tasks and %llu edges",
                         graph->task_count, (unsigned long long)edge_count);
  }
  weir__free(implied);
  weir__free(rows);
  return status;
}
