// SPDX-License-Identifier: Apache-2.0
#include "engine/fence.h"

#include "engine/admit.h"
#include "engine/arrivals.h"
#include "engine/check.h"
#include "engine/external.h"
#include "engine/reduce.h"
#include "engine/room.h"
#include "engine/storage.h"

typedef struct fence_submission {
  weir__submission submission;
  weir_device *device;
  weir__external_fence *fence; // NULL: of a device without fences, which signals
  weir_event *event;           // NULL: all tasks so far
  weir_buffer *buffer;         // not NULL: its users that conflict with `mode`
  weir_mode mode;
} fence_submission;

// The host does nothing.
static void nothing(const weir_work *work) {
  (void)work;
}

// What a user of a buffer's bytes is to an access of this mode that is not recorded.
typedef struct conflict {
  weir_context *context;
  weir_mode mode;
} conflict;

static void depend(const conflict *self, weir__id task, bool wrote, uint64_t lo, uint64_t hi) {
  weir_context *context = self->context;
  bool data = wrote && self->mode != WEIR_WRITE;
  if (!weir__live(&context->host.window.live, task) || (!wrote && self->mode == WEIR_READ)) return;
  weir__dependences_add(&context->order.dependences, task, data ? WEIR__HAZARD_RAW : WEIR__HAZARD_AFTER, data, lo, hi);
}

static void depend_on_users(void *user, uint64_t lo, uint64_t hi, weir__segment *segment) {
  const conflict *self = user;
  weir__dependences *dependences = &self->context->order.dependences;
  const weir__id *readers = weir__segment_readers(segment);
  depend(self, segment->writer, true, lo, hi);
  for (uint32_t i = 0; i < segment->reader_count; i++) {
    weir__id tag = segment->commutes ? readers[i] & WEIR__READER_TAG : WEIR__READER_BEFORE;
    depend(self, weir__reader_task(readers[i]), tag == WEIR__READER_FORMER || tag == WEIR__READER_COMMUTES, lo, hi);
  }
  if (segment->poisoned && self->mode != WEIR_WRITE)
    weir__dependences_add_poison(dependences, segment->poisoned, lo, hi);
}

static void depend_on_buffer(weir_context *context, weir_buffer *buffer, weir_mode mode) {
  conflict self = {.context = context, .mode = mode};
  size_t before = context->order.dependences.count;
  // Copies back to where it lives are among the readers, but who reads there comes after them, too.
  if (buffer->wrapped && context->memory.space_count > 1)
    weir__depend_on_arrivals(context, buffer, buffer->home, 0, buffer->bytes);
  weir__buffer_visit(buffer, 0, buffer->bytes, depend_on_users, &self);
  for (size_t i = before; i < context->order.dependences.count; i++)
    context->order.dependences.list[i].buffer = buffer->id;
}

static void depend_on_tasks(weir_context *context, const fence_submission *self) {
  const weir__window *window = &context->host.window;
  weir__id first = self->event != NULL ? self->event->task : window->live.oldest;
  weir__id last = self->event != NULL ? self->event->last : window->next - 1;
  for (weir__id id = first; id <= last; id++)
    weir__depend_on_task(context, &context->order.dependences, id, WEIR__HAZARD_AFTER);
}

// Copies of a buffer's bytes that tasks add to are combined first.
static weir__admit_result combine(weir_context *context, const fence_submission *self, weir_status *out_status) {
  if (self->buffer == NULL || !weir__reduce_any(context)) return WEIR__ADMITTED;
  const weir__access access = {.buffer = self->buffer, .lo = 0, .hi = self->buffer->bytes, .mode = WEIR_READ};
  return weir__reduce_combine_for(context, &self->submission, NULL, &access, 1, out_status);
}

// ThreadSanitizer is told whom the task comes after as if it had the access, which counts for nothing else.
static void show_access(const fence_submission *self, weir__task *task, weir__request *request) {
  const weir_buffer *buffer = self->buffer;
  if (buffer == NULL || !buffer->wrapped) return;
  request->accesses = (weir__access *)(void *)task->payload;
  request->checked.access_count = 1;
  *request->accesses = (weir__access){.buffer = self->buffer,
                                      .hi = buffer->bytes,
                                      .serial = buffer->serial,
                                      .mode = self->mode == WEIR_READ ? WEIR_READ : WEIR_READ_WRITE,
                                      .space = buffer->home};
}

static weir__admit_result admit(weir_context *context, const fence_submission *self, weir_event **out_event,
                                weir_status *out_status) {
  static const weir__completion_target silent = {.reported = false};
  weir__external_fence *fence = self->fence;
  bool signals = fence == NULL || fence->signals, stalled = fence != NULL && fence->stalled;
  weir__admit_result result = combine(context, self, out_status);
  if (result == WEIR__ADMITTED) result = weir__await_room(context, &self->submission, 1, out_status);
  if (result != WEIR__ADMITTED) return result;
  weir__window *window = &context->host.window;
  uint32_t event_count = self->event != NULL;
  if (!weir__externals_reserve(context, &self->event, event_count))
    return weir__no_memory(&self->submission, "event", out_status);
  weir_event *event = NULL;
  if (out_event != NULL) {
    event = weir__event_take(context, window->next, self->buffer != NULL ? &silent : NULL);
    if (event == NULL) return weir__no_memory(&self->submission, "event", out_status);
    *out_event = event;
  }
  weir__task *task = weir__window_begin(window);
  weir__request request = {
      .submission = &self->submission, .task = self->submission.task, .kind = WEIR__TASK_FENCE, .device = self->device};
  if (context->host.watch != NULL) show_access(self, task, &request);
  weir__dependences_clear(&context->order.dependences);
  context->stalled.listed = false;
  if (self->buffer != NULL)
    depend_on_buffer(context, self->buffer, self->mode);
  else if (signals)
    depend_on_tasks(context, self);
  if (signals) weir__externals_await(context, task, NULL, &self->event, event_count);
  task->event = event;
  if (fence != NULL) fence->task = task;
  weir__id id = task->id;
  if (stalled) task->blockers++;
  context->host.statistics.tasks++;
  weir__commit(context, &request, task);
  task->access_count = 0;
  if (!signals) context->order.fence = id;
  weir__context_is_unusual(context);
  if (stalled) self->device->ops->stall(self->device, fence);
  return WEIR__ADMITTED;
}

static weir_status submit(weir_device *device, fence_submission *self, const char *label, weir_event **out_event) {
  weir_context *context = weir__context_of(device->host);
  const weir_task named = {.label = label, .host = self->fence == NULL ? nothing : NULL, .user = self->fence};
  weir_status status = WEIR_OK;
  weir__admit_result result;
  self->device = device;
  self->submission.task = &named;
  weir__context_lock(context);
  do {
    result = admit(context, self, out_event, &status);
  } while (result == WEIR__RETRY);
  if (result == WEIR__ADMITTED) weir__context_flush(context);
  weir__context_unlock(context);
  return status;
}

weir_status weir__fence_submit(weir_device *device, weir__external_fence *fence, weir_event *event, const char *label,
                               weir_event **out_event) {
  fence_submission self = {.fence = fence, .event = event};
  return submit(device, &self, label, out_event);
}

weir_status weir__fence_submit_behind(weir_device *device, weir__external_fence *fence, weir_buffer *buffer,
                                      weir_mode mode, weir_event **out_event) {
  fence_submission self = {.fence = fence, .buffer = buffer, .mode = mode};
  return submit(device, &self, "buffer event", out_event);
}
