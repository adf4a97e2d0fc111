// SPDX-License-Identifier: Apache-2.0
#include "base/allocate.h"
#include "base/error.h"
#include "plan/barriers_check.h"

static bool is_edge(const weir__plan_graph *graph, uint32_t predecessor, uint32_t successor) {
  if (predecessor >= graph->task_count || successor >= graph->task_count) return false;
  for (uint64_t e = graph->first[successor]; e < graph->first[successor + 1]; e++) {
    if (graph->predecessors[e] == predecessor) return true;
  }
  return false;
}

static weir_status not_an_edge(uint32_t predecessor, uint32_t successor) {
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "task %u does not have to wait for task %u", successor, predecessor);
}

// `places`: where each task stands in the order; NULL: in program order.
static weir_status check_stretches(const weir__plan_graph *graph, const uint32_t *places,
                                   const weir__plan_edge *reasons, uint32_t count) {
  uint32_t end = 0; // of the stretches so far: a barrier for the next one stands behind this place
  for (uint32_t i = 0; i < count; i++) {
    weir__plan_edge reason = reasons[i];
    if (!is_edge(graph, reason.predecessor, reason.successor)) return not_an_edge(reason.predecessor, reason.successor);
    uint32_t from = places ? places[reason.predecessor] : reason.predecessor;
    uint32_t to = places ? places[reason.successor] : reason.successor;
    if (from >= to)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "the order has task %u before its predecessor %u",
                         reason.successor, reason.predecessor);
    if (from < end)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                         "reason %u, from task %u to task %u, and the one before could share a barrier", i,
                         reason.predecessor, reason.successor);
    end = to;
  }
  return WEIR_OK;
}

static weir_status find_places(uint32_t task_count, const uint32_t *order, uint32_t *out_places) {
  for (uint32_t t = 0; t < task_count; t++) out_places[t] = UINT32_MAX;
  for (uint32_t i = 0; i < task_count; i++) {
    if (order[i] >= task_count || out_places[order[i]] != UINT32_MAX)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "place %u of the order is no new task", i);
    out_places[order[i]] = i;
  }
  return WEIR_OK;
}

weir_status weir__barrier_check_reasons(const weir__plan_graph *graph, const uint32_t *order,
                                        const weir__plan_edge *reasons, uint32_t count) {
  if (!order) return check_stretches(graph, NULL, reasons, count);
  uint32_t *places = weir__allocate(((size_t)graph->task_count + 1) * sizeof *places);
  if (!places)
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory to check an order of %u tasks", graph->task_count);
  weir_status status = find_places(graph->task_count, order, places);
  if (status == WEIR_OK) status = check_stretches(graph, places, reasons, count);
  weir__free(places);
  return status;
}

weir_status weir__barrier_check_chain(const weir__plan_graph *graph, const uint32_t *tasks, uint32_t length) {
  for (uint32_t i = 1; i < length; i++) {
    if (!is_edge(graph, tasks[i - 1], tasks[i])) return not_an_edge(tasks[i - 1], tasks[i]);
  }
  return WEIR_OK;
}
