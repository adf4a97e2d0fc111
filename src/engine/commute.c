// SPDX-License-Identifier: Apache-2.0
#include "engine/commute.h"

#include "window/commute.h"

bool weir__context_commute(weir_context *context, weir__task *task) {
  bool no_memory, run_ahead = context->host.devices[task->device]->ops->run_ahead;
  if (weir__commute_enter(&context->host.window, task, run_ahead, &no_memory)) return true;
  if (!no_memory) return false;
  // Some task is in flight behind which it could not be put. When one is done it tries again, and at last there is none.
  task->blockers++;
  task->next = context->stalled.commuting;
  context->stalled.commuting = task;
  return false;
}

void weir__context_commute_again(weir_context *context) {
  weir__task *task = context->stalled.commuting;
  context->stalled.commuting = NULL;
  while (task != NULL) {
    weir__task *next = task->next;
    weir__window_release(&context->host.window, task);
    task = next;
  }
}
