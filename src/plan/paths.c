// SPDX-License-Identifier: Apache-2.0
#include "plan/paths.h"

uint32_t weir__plan_levels(const weir__plan_graph *graph, uint32_t *out_levels) {
  uint32_t count = 0;
  for (uint32_t t = 0; t < graph->task_count; t++) {
    out_levels[t] = 0;
    for (uint64_t e = graph->first[t]; e < graph->first[t + 1]; e++) {
      uint32_t below = out_levels[graph->predecessors[e]] + 1;
      if (below > out_levels[t]) out_levels[t] = below;
    }
    if (out_levels[t] + 1 > count) count = out_levels[t] + 1;
  }
  return count;
}

void weir__plan_upward_ranks(const weir__plan_graph *graph, const double *weights, double *out_ranks) {
  for (uint32_t t = 0; t < graph->task_count; t++) out_ranks[t] = 0;
  for (uint32_t t = graph->task_count; t-- > 0;) {
    out_ranks[t] += weights[t];
    for (uint64_t e = graph->first[t]; e < graph->first[t + 1]; e++) {
      uint32_t predecessor = graph->predecessors[e];
      if (out_ranks[t] > out_ranks[predecessor]) out_ranks[predecessor] = out_ranks[t];
    }
  }
}
