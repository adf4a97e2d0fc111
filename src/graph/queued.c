// SPDX-License-Identifier: Apache-2.0
#include "graph/queued.h"

#include "base/allocate.h"
#include "base/error.h"
#include "graph/plan.h"

// All buffers, so that they stay, and then what a launch writes, which is poisoned if it fails.
static uint32_t fill_args(const weir_graph *graph, weir_arg *args) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < graph->buffer_count; i++)
    args[count++] = (weir_arg){.mode = WEIR_READ, .buffer = graph->buffers[i], .bytes = WEIR_WHOLE};
  for (uint32_t i = 0; i < graph->plan->external_count; i++) {
    const weir__graph_external *external = &graph->plan->externals[i];
    if (external->mode == WEIR_READ) continue;
    args[count++] = (weir_arg){.mode = (weir_mode)external->mode,
                               .buffer = graph->buffers[external->buffer],
                               .offset = external->lo,
                               .bytes = external->hi - external->lo};
  }
  return count;
}

weir_status weir__graph_queue(weir_graph *graph, const weir__submission *submission, weir__queued_enter enter,
                              weir__queued_left left, const void *more, size_t more_bytes, weir_event **out_event) {
  weir_arg *args = weir__allocate((graph->buffer_count + graph->plan->external_count + 1ull) * sizeof *args);
  if (args == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "graph launch: no memory to queue it");
  const weir_task task = {.args = args, .arg_count = fill_args(graph, args), .label = "graph launch"};
  weir__submission named = *submission;
  named.task = &task;
  weir_status status = weir__queue_add(graph->object.context, &named, enter, left, more, more_bytes, out_event);
  weir__free(args);
  if (status != WEIR_OK) return status;
  graph->queued++;
  for (uint32_t i = 0; i < graph->recorded_count; i++) {
    if (graph->recorded[i].task.kernel != NULL) graph->recorded[i].task.kernel->queued++;
  }
  return WEIR_OK;
}

weir_status weir__graph_settle(weir_graph *graph, const char *what) {
  while (graph->queued > 0) {
    if (weir__this_thread.in_task)
      return weir__error(WEIR_ERROR_OUT_OF_MEMORY,
                         "%s: launches of the graph wait for room in the window, and a task or callback must not wait",
                         what);
    weir__queue_await_all(graph->object.context, 0);
  }
  return WEIR_OK;
}
