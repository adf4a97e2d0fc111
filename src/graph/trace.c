// SPDX-License-Identifier: Apache-2.0
//
// The nodes of a graph's launch in the timeline: each a task of its own.
#include <stdio.h>

#include "base/allocate.h"
#include "graph/graph.h"

// A node runs within the launch, whose times are bounded by the host's clock (engine/complete.c).
static void bound_times(const weir__trace_task *launch, weir__trace_task *record) {
  if (record->end_ns > launch->end_ns) record->end_ns = launch->end_ns;
  if (record->start_ns < launch->start_ns) record->start_ns = launch->start_ns;
  if (record->start_ns > launch->end_ns) record->start_ns = launch->end_ns;
  if (record->end_ns < record->start_ns) record->end_ns = record->start_ns;
}

// Takes the node's times from the launch's spans. False: it has none.
static bool find_times(const weir__trace_task *launch, uint32_t index, weir__trace_task *record) {
  for (uint32_t i = 0; i < launch->span_count; i++) {
    const weir__trace_span *span = &launch->spans[i];
    if (span->node != index + 1) continue;
    if (!record->done || span->start_ns < record->start_ns) record->start_ns = span->start_ns;
    if (span->end_ns > record->end_ns) record->end_ns = span->end_ns;
    record->lane = span->lane;
    record->done = true;
  }
  return record->done;
}

static void fill_accesses(const weir__graph_run *run, const weir__graph_node *node, weir__trace_task *record) {
  uint32_t memory = weir__trace_memory(run->graph->object.context, run->plan->space);
  for (uint32_t i = 0; i < node->arg_count; i++) {
    const weir__graph_arg *arg = &run->plan->args[node->first_arg + i];
    if (arg->mode == WEIR_VALUE) continue;
    record->accesses[record->access_count++] = (weir__trace_access){.mode = arg->mode,
                                                                    .buffer = run->buffers[arg->buffer]->id,
                                                                    .storage = run->storages[arg->buffer],
                                                                    .offset = arg->offset,
                                                                    .bytes = arg->bytes,
                                                                    .memory = memory};
    if (arg->box != NULL) record->accesses[record->access_count - 1].box = *arg->box;
  }
}

// Predecessors, with the time when the last of them was done.
static void fill_waits(const weir__graph_run *run, const weir__graph_node *node, const uint64_t *ends,
                       weir__trace_task *record) {
  for (uint32_t i = 0; i < node->predecessor_count; i++) {
    uint32_t predecessor = run->plan->predecessors[node->first_predecessor + i];
    const weir__graph_reason *reason = &run->plan->reasons[node->first_predecessor + i];
    bool for_bytes = reason->hazard != WEIR__HAZARD_AFTER; // else no buffer is the reason, and the launch may have none
    record->waits[record->wait_count++] = (weir__trace_wait){.task = weir__trace_node_id(run->task_id, predecessor),
                                                             .hazard = (weir__hazard)reason->hazard,
                                                             .buffer = for_bytes ? run->buffers[reason->buffer]->id : 0,
                                                             .lo = reason->lo,
                                                             .hi = reason->hi};
    if (ends[predecessor] > record->ready_ns) record->ready_ns = ends[predecessor];
  }
}

static void add_node(weir__trace *trace, const weir__graph_run *run, const weir__trace_task *launch, uint32_t index,
                     uint64_t *ends) {
  const weir__graph_node *node = &run->plan->nodes[index];
  weir__trace_task record = {.id = weir__trace_node_id(run->task_id, index),
                             .tag = node->tag,
                             .device = launch->device,
                             .lane = launch->lane,
                             .submit_ns = launch->submit_ns,
                             .ready_ns = launch->ready_ns,
                             .kind = node->kind == WEIR__GRAPH_CALL ? WEIR__TRACE_RUN : WEIR__TRACE_COPY,
                             .groups = {node->groups[0], node->groups[1], node->groups[2]},
                             .has_origin = launch->has_origin,
                             .origin = launch->origin};
  snprintf(record.kernel, sizeof record.kernel, "%s", node->kernel != NULL ? node->kernel->name : "host");
  snprintf(record.label, sizeof record.label, "%s", weir__graph_node_name(node));
  uint8_t state = atomic_load_explicit(&run->states[index], memory_order_relaxed);
  record.status = state == WEIR__NODE_OK       ? WEIR_OK
                  : state == WEIR__NODE_FAILED ? WEIR_ERROR_TASK_FAILED
                                               : WEIR_ERROR_UPSTREAM_FAILED;
  if (!find_times(launch, index, &record)) return;
  bound_times(launch, &record);
  ends[index] = record.end_ns;
  record.accesses = weir__allocate((node->arg_count + 1) * sizeof *record.accesses);
  record.waits = weir__allocate((node->predecessor_count + 1) * sizeof *record.waits);
  if (record.accesses != NULL) fill_accesses(run, node, &record);
  if (record.waits != NULL) fill_waits(run, node, ends, &record);
  weir__trace_add_node(trace, &record);
  weir__free(record.accesses);
  weir__free(record.waits);
}

void weir__graph_run_trace(const weir__task *task) {
  const weir__graph_run *run = task->run;
  weir__trace *trace = run->graph->object.context->host.trace;
  weir__trace_task *launch = weir__trace_find(trace, task->id);
  uint64_t *ends = weir__allocate_zeroed(run->plan->node_count * sizeof *ends);
  if (launch == NULL || ends == NULL) {
    weir__free(ends);
    return;
  }
  launch->graph = true;
  for (uint32_t i = 0; i < run->plan->node_count; i++) add_node(trace, run, launch, i, ends);
  weir__free(ends);
}
