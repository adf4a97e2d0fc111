// SPDX-License-Identifier: Apache-2.0
#include "repeats/repeats.h"

#include "api/fetch.h"
#include "base/error.h"
#include "base/structs.h"
#include "engine/plain_whole.h"
#include "engine/process.h"

// A task that is none of the plainest.
static __attribute__((noinline)) weir_status submit_other(weir_context *context, const weir_task *task,
                                                          weir_device *device, weir_event **out_event) {
  if (weir__submit_plain_other(context, task, device, out_event)) return WEIR_OK;
  return weir__repeats_submit_other(context, task, out_event);
}

// A task in a context with devices that run ahead in memory of their own.
static inline weir_status submit_ahead(weir_context *context, const weir_task *task, weir_event **out_event) {
  if (__builtin_expect(weir__submit_plain_ahead(context, task, out_event), true)) return WEIR_OK;
  return weir__repeats_submit_other(context, task, out_event);
}

static __attribute__((cold)) weir_status refuse_null(const weir_context *context, weir_event **out_event) {
  if (out_event != NULL) *out_event = NULL;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "submit: the %s is NULL", context == NULL ? "context" : "task");
}

// Where there are many buffers. Other threads need not wait while the lines of buffers come, since this thread has no lock yet.
static weir_status look_closer(const weir_context *context, const weir_task *task) {
  if (weir__is_foreign(context)) return weir__refuse_foreign("submit");
  weir__fetch_args(task, true);
  return WEIR_OK;
}

weir_status weir_submit_sized(weir_context *context, const weir_task *given, size_t task_size, weir_event **out_event) {
  if (context == NULL || given == NULL) return refuse_null(context, out_event);
  if (out_event != NULL) *out_event = NULL;
  weir_task own;
  const weir_task *task = weir__task_take(&own, given, task_size, "submit");
  if (task == NULL) return WEIR_ERROR_INVALID_ARGUMENT;
  weir_status status = WEIR_OK;
  if (weir__fetch_is_due(context)) {
    // A task that is compared with a run that came before needs few lines of its buffers, and not those of what comes next.
    if (weir__repeats_hold_back(context)) return weir__repeats_submit_next(context, task, out_event);
    status = look_closer(context, task);
  }
  if (status != WEIR_OK) return status;
  weir__context_lock_to_submit(context);
  weir_device *device;
  uint8_t plain = context->devices.plain;
  if (plain == WEIR__PLAIN_NONE)
    status = weir__repeats_submit_other(context, task, out_event);
  else if (plain == WEIR__PLAIN_AHEAD)
    status = submit_ahead(context, task, out_event);
  else if (!weir__submit_whole(context, task, out_event, &device))
    status = submit_other(context, task, device, out_event);
  weir__context_unlock(context);
  return status;
}
