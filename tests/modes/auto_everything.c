// SPDX-License-Identifier: Apache-2.0
//
// Loaded before libweir: every buffer that a task of a kernel names is weir_auto, whatever the program declared. So programs run
// with the modes of their kernels' code; in check mode, one that is too weak is found.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/graph.h"

static const weir_task *open_modes(const weir_task *task, weir_task *own) {
  static _Thread_local weir_arg args[WEIR_MAX_ARGS];
  if (task == NULL || task->kernel == NULL || task->arg_count > WEIR_MAX_ARGS || task->args == NULL) return task;
  *own = *task;
  own->args = args;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    args[i] = task->args[i];
    if (args[i].mode >= WEIR_READ && args[i].mode <= WEIR_READ_WRITE) args[i].mode = WEIR_AUTO;
  }
  return own;
}

static void *find(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) {
    fprintf(stderr, "auto: there is no %s\n", name);
    abort();
  }
  return found;
}

weir_status weir_submit_sized(weir_context *context, const weir_task *task, size_t task_size, weir_event **out_event) {
  weir_status (*next)(weir_context *, const weir_task *, size_t, weir_event **);
  *(void **)&next = find("weir_submit_sized");
  weir_task own;
  return next(context, task_size == sizeof *task ? open_modes(task, &own) : task, task_size, out_event);
}

weir_status weir_graph_add_sized(weir_graph *graph, const weir_task *task, size_t task_size, uint32_t *out_node) {
  weir_status (*next)(weir_graph *, const weir_task *, size_t, uint32_t *);
  *(void **)&next = find("weir_graph_add_sized");
  weir_task own;
  return next(graph, task_size == sizeof *task ? open_modes(task, &own) : task, task_size, out_node);
}
