// SPDX-License-Identifier: Apache-2.0
#include "plan/barriers_in_order.h"

// A predecessor in an epoch, or NULL.
static const uint32_t *predecessor_in(const weir__plan_graph *graph, uint32_t task, const uint32_t *epochs,
                                      uint32_t epoch) {
  for (uint64_t e = graph->first[task]; e < graph->first[task + 1]; e++) {
    if (epochs[graph->predecessors[e]] == epoch) return &graph->predecessors[e];
  }
  return NULL;
}

uint32_t weir__barriers_in_order(const weir__plan_graph *graph, const uint32_t *order, uint32_t *out_epochs,
                                 weir__plan_edge *out_reasons) {
  uint32_t epoch = 0;
  for (uint32_t i = 0; i < graph->task_count; i++) {
    uint32_t task = order ? order[i] : i;
    const uint32_t *predecessor = predecessor_in(graph, task, out_epochs, epoch);
    if (predecessor) {
      if (out_reasons) out_reasons[epoch] = (weir__plan_edge){*predecessor, task};
      epoch++;
    }
    out_epochs[task] = epoch;
  }
  return epoch;
}

// The first predecessor on a level; there is one, since levels are lengths of longest chains.
static uint32_t predecessor_on(const weir__plan_graph *graph, uint32_t task, const uint32_t *levels, uint32_t level) {
  uint64_t e = graph->first[task];
  while (levels[graph->predecessors[e]] != level) e++;
  return graph->predecessors[e];
}

uint32_t weir__barriers_chain(const weir__plan_graph *graph, const uint32_t *levels, uint32_t level_count,
                              uint32_t *out_tasks) {
  if (level_count == 0) return 0;
  uint32_t task = 0;
  while (levels[task] != level_count - 1) task++;
  for (uint32_t level = level_count - 1; level > 0; level--) {
    out_tasks[level] = task;
    task = predecessor_on(graph, task, levels, level - 1);
  }
  out_tasks[0] = task;
  return level_count;
}
