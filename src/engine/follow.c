// SPDX-License-Identifier: Apache-2.0
#include "engine/follow.h"

#include <stdio.h>

#include "device/work.h"
#include "engine/admit.h"
#include "engine/check.h"
#include "engine/external.h"
#include "engine/reduce.h"
#include "engine/room.h"
#include "engine/transfer.h"

// The task's function: its predecessors are done, what the event stands for among them. How that ended is decided, but
// perhaps not told yet: what frees a task's data is called first.
static void follow(const weir_work *work) {
  const weir_event *event = work->user;
  weir__failure *failure = work->internal;
  if (event->decided && event->outcome == WEIR_OK) return;
  failure->failed = true;
  snprintf(failure->message, sizeof failure->message, "%.*s", (int)sizeof failure->message - 1, event->message);
}

// Its destroy function.
static void let_go(void *user) {
  weir_event *event = user;
  weir_context *context = event->object.context;
  weir__context_lock(context);
  weir__event_drop(event);
  weir__context_unlock(context);
}

static weir__admit_result enter(weir_context *context, const weir__submission *submission, weir_event **out_event,
                                weir_status *out_status) {
  const weir_task *task = submission->task;
  uint32_t space = task->args[0].buffer->home;
  weir__admit_result result = weir__await_room(context, submission, 1, out_status);
  if (result != WEIR__ADMITTED) return result;
  weir__request request = {.submission = submission,
                           .task = task,
                           .kind = WEIR__TASK_HOST,
                           .device = context->devices.copier,
                           .asked = WEIR__NO_CHECK,
                           .fresh = context->order.fresh};
  if (!weir__externals_reserve(context, task->after, task->after_count))
    return weir__no_memory(submission, "events", out_status);
  weir__task *slot = weir__window_task(&context->host.window, context->host.window.next);
  request.accesses = weir__window_payload(slot, sizeof(weir__access) + sizeof(void *));
  *out_status = weir__check_args(context, task, space, request.accesses, &request.checked);
  if (*out_status != WEIR_OK) return WEIR__REFUSED;
  if (request.checked.reduces) {
    result = weir__reduce_combine_for(context, submission, task, request.accesses, 1, out_status);
    if (result != WEIR__ADMITTED) return result;
  }
  if (request.checked.lacks_contents) {
    result = weir__transfer_args(context, submission, space, 1, out_status);
    return result == WEIR__ADMITTED ? WEIR__RETRY : result; // transfers have taken the slot
  }
  request.pointers = (void **)(void *)(request.accesses + 1);
  return weir__admit(context, &request, out_event, out_status);
}

weir_status weir__follow_submit(weir_buffer *buffer, weir_mode mode, weir_event *event) {
  weir_context *context = buffer->object.context;
  const weir_arg arg = {.mode = mode, .buffer = buffer, .bytes = WEIR_WHOLE};
  const weir_task task = {.host = follow,
                          .user = event,
                          .args = &arg,
                          .arg_count = 1,
                          .after = &event,
                          .after_count = 1,
                          .label = "follow",
                          .destroy = let_go};
  const weir__submission submission = {.task = &task, .device = context->devices.copier};
  weir_event *own = NULL;
  weir_status status = WEIR_OK;
  weir__admit_result result;
  event->references++;
  do {
    result = enter(context, &submission, &own, &status);
  } while (result == WEIR__RETRY);
  if (result == WEIR__ADMITTED)
    weir__event_drop(own);
  else
    weir__event_drop(event);
  return status;
}
