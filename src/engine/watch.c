// SPDX-License-Identifier: Apache-2.0
#include "engine/watch.h"

#include "engine/family.h"

void weir__watch_open(weir_context *context) {
  weir__tsan_find();
  context->host.watch = weir__watch_create(context->host.window.size);
  if (context->host.watch == NULL) return;
  context->host.flags |= WEIR__CONTEXT_WATCHED;
  weir__lock_ignores(&context->host.lock);
}

// The task's own points. A task that was queued has some since it was submitted.
static weir__sync *points_of(const weir_event *event) {
  if (event != NULL && event->sync != NULL) return weir__sync_hold(event->sync);
  weir__sync *own = weir__sync_create();
  if (own != NULL) weir__tsan_release(&own->start);
  return own;
}

static void acquire_task(const weir__watch *watch, const weir__window *window, weir__watched *self, weir__id id) {
  if (weir__live(&window->live, id)) weir__watched_acquire(self, watch->tasks[id & window->live.mask].own);
}

// Tasks that it comes after by other means than bytes, in flight or not.
static void acquire_others(const weir_context *context, const weir__request *request, weir__watched *self,
                           const weir__dependences *dependences) {
  const weir__watch *watch = context->host.watch;
  const weir__window *window = &context->host.window;
  for (size_t i = 0; i < dependences->count; i++) {
    if (dependences->list[i].task != 0) acquire_task(watch, window, self, dependences->list[i].task);
  }
  for (uint32_t i = 0; i < request->task->after_count; i++) weir__watched_acquire(self, request->task->after[i]->sync);
  if (context->order.fence != 0) acquire_task(watch, window, self, context->order.fence);
  if (context->host.flags & WEIR_CONTEXT_IN_ORDER) weir__watched_acquire(self, watch->last);
  // Check mode has its copies of the bytes at the same place for all tasks, which run one after the other.
  if (context->host.flags & WEIR_CONTEXT_CHECK) weir__watched_acquire(self, watch->all);
}

static bool has_values(const weir_task *task) {
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (task->args[i].mode == WEIR_VALUE) return true;
  }
  return false;
}

void weir__watch_admit(weir_context *context, const weir__request *request, weir__task *task,
                       const weir__dependences *dependences) {
  weir__watch *watch = context->host.watch;
  weir__watched *self = weir__watch_task(&context->host, task);
  self->number = task->id + 1;
  self->has_values = has_values(request->task);
  self->repeats = (context->host.flags & WEIR_CONTEXT_CHECK) != 0;
  self->own = points_of(request->submission->event);
  if (self->own == NULL) return;
  self->own->unfinished = self;
  if (context->host.flags & WEIR__CONTEXT_PROFILES) weir__tsan_release(&watch->profile);
  if (task->event != NULL && task->event->sync == NULL) task->event->sync = weir__sync_hold(self->own);
  acquire_others(context, request, self, dependences);
  for (uint32_t i = 0; i < task->access_count; i++) weir__trail_note(self, &task->accesses[i], watch->all);
  if (!(context->host.flags & WEIR_CONTEXT_IN_ORDER)) return;
  weir__sync_drop(watch->last);
  watch->last = weir__sync_hold(self->own);
}

void weir__watch_queue(weir_event *event) {
  event->sync = weir__sync_create();
  if (event->sync != NULL) weir__tsan_release(&event->sync->start);
}

static weir__watch_after after(const weir_event *event) {
  const weir_context *context = event->object.context;
  return (weir__watch_after){
      .task = event->sync, .all = context->host.watch->all, .group = event->group != NULL ? event->group->sync : NULL};
}

void weir__watch_call_back(const weir_event *event, const weir__completion_target *target, bool own,
                           weir_status status) {
  if (__builtin_expect(event->object.context->host.watch == NULL, true)) {
    target->done(target->user, status);
    return;
  }
  weir__watch_after called = after(event);
  called.callback = target->done;
  called.user = target->user;
  called.own = own;
  called.status = status;
  weir__watch_call_after(&called);
}

void weir__watch_call_destroy(const weir_event *event, void (*destroy)(void *user), void *user) {
  if (__builtin_expect(event->object.context->host.watch == NULL, true)) {
    destroy(user);
    return;
  }
  weir__watch_after called = after(event);
  called.destroy = destroy;
  called.user = user;
  weir__watch_call_after(&called);
}
