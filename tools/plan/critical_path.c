// SPDX-License-Identifier: Apache-2.0
#include "plan/critical_path.h"

double weir__plan_earliest_ends(const weir__plan_graph *graph, const double *weights, double *out_ends) {
  double latest = 0;
  for (uint32_t t = 0; t < graph->task_count; t++) {
    double start = 0;
    for (uint64_t e = graph->first[t]; e < graph->first[t + 1]; e++) {
      double end = out_ends[graph->predecessors[e]];
      if (end > start) start = end;
    }
    out_ends[t] = start + weights[t];
    if (out_ends[t] > latest) latest = out_ends[t];
  }
  return latest;
}

uint32_t weir__plan_critical_path(const weir__plan_graph *graph, const double *ends, uint32_t *out_tasks) {
  if (graph->task_count == 0) return 0;
  uint32_t task = 0;
  for (uint32_t t = 1; t < graph->task_count; t++) {
    if (ends[t] > ends[task]) task = t;
  }

  // The path is found from its end: fill it in backwards, then turn it round.
  uint32_t count = 0;
  for (;;) {
    out_tasks[count++] = task;
    uint64_t begin = graph->first[task], end = graph->first[task + 1];
    if (begin == end) break;
    uint32_t latest = graph->predecessors[begin];
    for (uint64_t e = begin; e < end; e++) {
      if (ends[graph->predecessors[e]] > ends[latest]) latest = graph->predecessors[e];
    }
    task = latest;
  }
  for (uint32_t i = 0; i < count / 2; i++) {
    uint32_t other = out_tasks[count - 1 - i];
    out_tasks[count - 1 - i] = out_tasks[i];
    out_tasks[i] = other;
  }
  return count;
}

uint32_t weir__plan_descendants(const weir__plan_graph *graph, uint32_t task, bool *out_marks) {
  uint32_t count = 0;
  for (uint32_t t = 0; t < graph->task_count; t++) {
    out_marks[t] = false;
    for (uint64_t e = graph->first[t]; e < graph->first[t + 1] && !out_marks[t]; e++)
      out_marks[t] = graph->predecessors[e] == task || out_marks[graph->predecessors[e]];
    count += out_marks[t];
  }
  return count;
}
