// SPDX-License-Identifier: Apache-2.0
//
// Launches of graphs as tasks: what their ends mean goes by nodes.
#include "engine/rules.h"
#include "engine/failures.h"
#include "graph/graph.h"

// Which nodes are skipped is found out node by node.
static weir_status skip_status(weir__host *host, const weir__task *task) {
  bool cancelled = task->id < atomic_load_explicit(&host->cancel_before, memory_order_relaxed) || task->dropped;
  return cancelled ? WEIR_ERROR_CANCELLED : WEIR_OK;
}

static void bind(weir_context *context, weir__task *task, const weir__dependences *dependences) {
  weir__graph_run_bind(task, dependences);
  context->graphs.in_flight++;
  weir__context_is_unusual(context);
}

static void note_reader(const weir__task *task, const weir__dependence *dependence, const weir_box *box,
                        weir__id reader) {
  weir__graph_run_note_reader(task->run, dependence, box, reader);
}

// One that is done already, in another queue than its predecessor, has no run any more.
static void upstream_failed(weir_context *context, weir__task *task, weir__id predecessor) {
  (void)context;
  if (task->run != NULL) weir__graph_run_upstream_failed(task, predecessor);
}

static void failed(weir_context *context, weir__task *task, const weir__completion *completion) {
  if (completion->status == WEIR_ERROR_CANCELLED)
    weir__poison_outputs(context, task);
  else
    weir__graph_run_poison(task, weir__failures_root(context, task));
}

// A launch marks its readers node by node, unless it did not run at all.
static bool marks_readers(const weir_context *context, const weir__completion *completion) {
  return completion->status != WEIR_ERROR_CANCELLED && !context->graphs.forgot_readers;
}

// Who has the event of a launch that stands for single tasks submitted the last one.
static weir_status event_status(const weir__task *task, weir_status status) {
  const weir__graph_run *run = task->run;
  if (!run->graph->own || (status != WEIR_ERROR_TASK_FAILED && status != WEIR_ERROR_UPSTREAM_FAILED)) return status;
  switch (atomic_load_explicit(&run->states[run->plan->node_count - 1], memory_order_relaxed)) {
  case WEIR__NODE_OK:
    return WEIR_OK;
  case WEIR__NODE_SKIPPED:
    return WEIR_ERROR_UPSTREAM_FAILED;
  default:
    return WEIR_ERROR_TASK_FAILED;
  }
}

// And counts single tasks.
static void count_tasks(weir_context *context, const weir__graph_run *run) {
  uint32_t failed = atomic_load_explicit(&run->failed_count, memory_order_relaxed);
  context->host.statistics.done += run->plan->node_count - 1;
  if (failed > 1) context->host.statistics.failed += failed - 1;
}

static void done(weir_context *context, weir__task *task) {
  if (task->run->graph->own) count_tasks(context, task->run);
  weir__graph_run_done(task);
  context->graphs.in_flight--;
}

const weir__task_rules weir__launch_rules = {.name = "graph",
                                             .skip_status = skip_status,
                                             .bind = bind,
                                             .note_reader = note_reader,
                                             .upstream_failed = upstream_failed,
                                             .failed = failed,
                                             .marks_readers = marks_readers,
                                             .trace = weir__graph_run_trace,
                                             .event_status = event_status,
                                             .done = done};
