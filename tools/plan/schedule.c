// SPDX-License-Identifier: Apache-2.0
#include "plan/schedule.h"

double weir__plan_window_schedule(const weir__plan_graph *graph, const double *weights, uint32_t window,
                                  double *out_ends) {
  double entered = 0, makespan = 0;
  for (uint32_t t = 0; t < graph->task_count; t++) {
    if (window && t >= window && out_ends[t - window] > entered) entered = out_ends[t - window];
    double start = entered;
    for (uint64_t e = graph->first[t]; e < graph->first[t + 1]; e++) {
      double end = out_ends[graph->predecessors[e]];
      if (end > start) start = end;
    }
    out_ends[t] = start + weights[t];
    if (out_ends[t] > makespan) makespan = out_ends[t];
  }
  return makespan;
}
