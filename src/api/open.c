// SPDX-License-Identifier: Apache-2.0
//
// Open tasks.
#include <stdio.h>

#include "base/error.h"
#include "base/structs.h"
#include "engine/open.h"
#include "weir/enqueue.h"

// The context's first device on which tasks can be open; NULL: it has none.
static weir_device *first_device(const weir_context *context) {
  for (uint32_t i = 0; i < context->devices.listed_count; i++) {
    if (context->host.devices[i]->ops->opens != NULL) return context->host.devices[i];
  }
  return NULL;
}

weir_status weir_task_begin_sized(weir_context *context, const weir_task *given, size_t task_size,
                                  weir_open_task **out_open, const weir_enqueue **out_call) {
  if (out_open == NULL || out_call == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "task begin: %s is NULL",
                       out_open == NULL ? "out_open" : "out_call");
  *out_open = NULL;
  *out_call = NULL;
  if (context == NULL || given == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "task begin: the %s is NULL", context == NULL ? "context" : "task");
  weir_task task;
  weir_status status = weir__struct_take(&task, sizeof task, given, task_size, "task begin");
  if (status != WEIR_OK) return status;
  if (task.device == NULL) task.device = first_device(context);
  if (task.device == NULL)
    return weir__error(WEIR_ERROR_UNAVAILABLE, "task begin: the context has no device on which tasks can be open");
  status = weir__open_begin(context, &task, out_open);
  if (status == WEIR_OK) *out_call = &(*out_open)->device.call.call;
  return status;
}

static weir_status check(const weir_open_task *open, const char *what) {
  if (open == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the open task is NULL", what);
  if (weir__this_thread.open != open)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: this thread has %s", what,
                       weir__this_thread.open == NULL ? "no open task" : "another open task");
  return WEIR_OK;
}

weir_status weir_task_end(weir_open_task *open, const weir_arg *args, uint32_t arg_count, weir_event **out_event) {
  if (out_event != NULL) *out_event = NULL;
  weir_status status = check(open, "task end");
  return status == WEIR_OK ? weir__open_end(open, args, arg_count, WEIR_OK, NULL, out_event) : status;
}

weir_status weir_task_abandon(weir_open_task *open, weir_status failure, const char *message) {
  char text[WEIR__WORK_MESSAGE_BYTES];
  weir_status status = check(open, "task abandon");
  if (status != WEIR_OK) return status;
  if (failure < WEIR_ERROR_INVALID_ARGUMENT || failure > WEIR_ERROR_IO)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "task abandon: %d is no failure", (int)failure);
  snprintf(text, sizeof text, "%s", message == NULL ? weir_status_text(failure) : message);
  return weir__open_end(open, NULL, 0, failure, text, NULL);
}
