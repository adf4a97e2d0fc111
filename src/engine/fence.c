// SPDX-License-Identifier: Apache-2.0
#include "engine/fence.h"

#include "engine/admit.h"
#include "engine/check.h"
#include "engine/room.h"
#include "engine/storage.h"

typedef struct fence_submission {
  weir__submission submission;
  weir_device *device;
  weir__external_fence *fence;
  const weir_event *event;
} fence_submission;

static weir__admit_result admit(weir_context *context, const fence_submission *self, weir_event **out_event,
                                weir_status *out_status) {
  weir__external_fence *fence = self->fence;
  weir__admit_result result = weir__await_room(context, &self->submission, 1, out_status);
  if (result != WEIR__ADMITTED) return result;
  weir__window *window = &context->host.window;
  weir__id first = self->event != NULL ? self->event->task : window->live.oldest;
  weir__id last = self->event != NULL ? self->event->last : window->next - 1;
  weir_event *event = NULL;
  if (out_event != NULL) {
    event = weir__event_take(context, window->next, NULL);
    if (event == NULL) return weir__no_memory(&self->submission, "event", out_status);
    *out_event = event;
  }
  weir__task *task = weir__window_begin(window);
  const weir__request request = {
      .submission = &self->submission, .task = self->submission.task, .kind = WEIR__TASK_FENCE, .device = self->device};
  weir__dependences_clear(&context->order.dependences);
  context->stalled.listed = false;
  for (weir__id id = first; fence->signals && id <= last; id++)
    weir__depend_on_task(context, &context->order.dependences, id, WEIR__HAZARD_AFTER);
  task->event = event;
  fence->task = task;
  weir__id id = task->id;
  if (fence->stalled) task->blockers++;
  context->host.statistics.tasks++;
  weir__commit(context, &request, task);
  if (!fence->signals) context->order.fence = id;
  if (fence->stalled) self->device->ops->stall(self->device, fence);
  return WEIR__ADMITTED;
}

weir_status weir__fence_submit(weir_device *device, weir__external_fence *fence, const weir_event *event,
                               const char *label, weir_event **out_event) {
  weir_context *context = weir__context_of(device->host);
  const weir_task named = {.label = label, .user = fence};
  const fence_submission self = {.submission = {.task = &named}, .device = device, .fence = fence, .event = event};
  weir_status status = WEIR_OK;
  weir__admit_result result;
  weir__context_lock(context);
  do {
    result = admit(context, &self, out_event, &status);
  } while (result == WEIR__RETRY);
  if (result == WEIR__ADMITTED) weir__context_flush(context);
  weir__context_unlock(context);
  return status;
}
