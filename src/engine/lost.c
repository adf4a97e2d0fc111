// SPDX-License-Identifier: Apache-2.0
#include "engine/lost.h"

#include "device/graph.h"

// Addresses that are in no pool, as those of values, are passed over.
static void leave(weir_context *context, const void *address) {
  for (uint32_t space = 0; space < context->memory.space_count; space++)
    weir__pool_leave(&context->memory.pools[space], address);
}

void weir__storage_leave(weir_context *context, const weir__task *task) {
  void *const *args = task->run != NULL ? task->run->args : task->args;
  uint32_t count = task->run != NULL ? task->run->plan->arg_count : task->arg_count;
  for (uint32_t i = 0; i < count; i++) leave(context, args[i]);
  if (task->move == NULL) return;
  leave(context, task->move->destination);
  leave(context, task->move->source);
}
