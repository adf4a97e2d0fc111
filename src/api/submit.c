// SPDX-License-Identifier: Apache-2.0
#include "repeats/repeats.h"

#include "base/error.h"
#include "base/structs.h"

// Other threads need not wait while the lines of buffers come, since this thread has no lock yet.
static inline void fetch_buffers(const weir_context *context, const weir_task *task) {
  if (!atomic_load_explicit(&context->host.many_buffers, memory_order_relaxed) || task->args == NULL) return;
  for (uint32_t i = 0; i < task->arg_count; i++) weir__buffer_fetch(task->args[i].buffer);
}

weir_status weir_submit_sized(weir_context *context, const weir_task *given, size_t task_size, weir_event **out_event) {
  if (out_event != NULL) *out_event = NULL;
  if (context == NULL || given == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "submit: the %s is NULL", context == NULL ? "context" : "task");
  weir_task own;
  const weir_task *task = weir__task_take(&own, given, task_size, "submit");
  if (task == NULL) return WEIR_ERROR_INVALID_ARGUMENT;
  fetch_buffers(context, task);
  weir__context_lock_to_submit(context);
  weir_status status = weir__repeats_submit(context, task, out_event);
  weir__context_unlock(context);
  return status;
}
