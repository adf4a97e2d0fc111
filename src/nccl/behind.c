// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_device.h"
#include "device/graph.h"
#include "nccl/nccl.h"

// A device's thread, and its launchers, look before they launch what comes behind the task.
static void mark(weir_context *context, weir__task *task) {
  weir_device *device = context->host.devices[task->device];
  weir__window_mark_failing(&context->host.window, task);
  if (weir__is_cuda(device)) atomic_store_explicit(&weir__in_order_of(device)->has_failing, true, memory_order_relaxed);
}

// A launch of a graph that read what is no result: which of its nodes did so is not looked for.
static void fail_run(weir__graph_run *run) {
  for (uint32_t i = 0; i < run->plan->node_count; i++)
    weir__graph_run_note_failure(run, i, weir_status_text(WEIR_ERROR_UPSTREAM_FAILED));
}

static void mark_behind(weir_context *context, weir__task *task) {
  bool writes_back = task->move != NULL && task->move->write_back; // one that is skipped has lost nothing
  if (!task->reads_poison || task->failing || writes_back) return;
  mark(context, task);
  if (task->run != NULL) fail_run(task->run);
}

// The oldest part in flight; what comes after none has a greater number than all tasks.
static weir__id mark_parts(weir_nccl *nccl) {
  weir__window *window = &nccl->context->host.window;
  weir__id oldest = window->next;
  pthread_mutex_lock(&nccl->lock);
  for (weir__collective *at = nccl->in_flight; at != NULL; at = at->next) {
    for (uint32_t i = 0; i < nccl->count; i++) {
      weir__id id = at->parts[i].task;
      if (id == 0 || !weir__live(&window->live, id)) continue;
      mark(nccl->context, weir__window_task(window, id));
      if (id < oldest) oldest = id;
    }
  }
  pthread_mutex_unlock(&nccl->lock);
  return oldest;
}

// Tasks come after tasks with smaller numbers only, so one way through is enough.
void weir__nccl_fail_behind(weir_nccl *nccl) {
  weir_context *context = nccl->context;
  weir__window *window = &context->host.window;
  weir__host_lock(&context->host);
  for (weir__id id = mark_parts(nccl); id < window->next; id++) {
    if (weir__live(&window->live, id)) mark_behind(context, weir__window_task(window, id));
  }
  weir__host_unlock(&context->host);
}
