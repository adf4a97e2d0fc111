// SPDX-License-Identifier: Apache-2.0
//
// What became of enqueue functions in a graph.
#include <string.h>

#include "base/error.h"
#include "base/structs.h"
#include "graph/plan.h"
#include "weir/enqueue.h"

// The lock is held.
static weir_graph_calls calls_of(const weir_graph *graph) {
  const weir__graph_counts *counts = &graph->counts;
  weir_graph_calls calls = {
      .captured = counts->captured, .made = counts->made, .updated = counts->updated, .called = counts->called};
  memcpy(calls.reason, counts->reason, sizeof calls.reason);
  const weir_device *device = weir__graph_device(graph);
  for (uint32_t i = 0; i < graph->recorded_count; i++)
    calls.nodes += graph->recorded[i].adopted || weir__kernel_enqueue(graph->recorded[i].task.kernel, device) != NULL;
  return calls;
}

weir_status weir_graph_get_calls_sized(weir_graph *graph, weir_graph_calls *out_calls, size_t calls_size) {
  if (out_calls == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph calls: out_calls is NULL");
  weir_graph_calls calls = {0};
  weir__struct_give(out_calls, calls_size, &calls, sizeof calls);
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph calls");
  if (status != WEIR_OK) return status;
  weir__context_lock_at_once(graph->object.context);
  calls = calls_of(graph);
  weir__context_unlock(graph->object.context);
  weir__struct_give(out_calls, calls_size, &calls, sizeof calls);
  return WEIR_OK;
}
