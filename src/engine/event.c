// SPDX-License-Identifier: Apache-2.0
//
// Events: the state of one task, kept for the caller.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "engine/family.h"
#include "engine/profile.h"
#include "engine/queue.h"
#include "engine/watch.h"

enum { CALLBACKS_AT_ONCE = 64 };

weir_event *weir__event_take(weir_context *context, weir__id task, const weir__completion_target *target) {
  weir_event *event = (weir_event *)weir__object_take(&context->objects.events, context, UINT64_MAX);
  if (event == NULL) return NULL;
  atomic_store_explicit(&event->status, WEIR_PENDING, memory_order_relaxed);
  atomic_store_explicit(&event->sleepers, 0, memory_order_relaxed);
  event->references = 2;
  event->tasks = 1;
  event->task = event->last = task;
  event->callbacks = NULL;
  event->next_called = NULL;
  event->has_target = target != NULL;
  event->target = target != NULL ? *target : (weir__completion_target){0};
  event->start_ns = event->end_ns = event->moved_ns = 0;
  event->ending = NULL;
  event->decided = event->copy_skipped = false;
  event->root = task;
  event->child = event->dropped = false;
  event->group = NULL;
  event->message[0] = '\0';
  return event;
}

static weir_event *event_of(const weir__ending *ending) {
  return (weir_event *)(void *)((char *)(uintptr_t)ending - offsetof(weir_event, owned.ending));
}

static bool may_free(const weir__ending *ending) {
  (void)ending;
  return true;
}

// This thread calls a function of the caller's that belongs to the end of a task. Returns what it was before.
static weir__thread enter_callback(weir_event *event) {
  weir__thread before = weir__this_thread;
  weir__this_thread.in_task = true;
  weir__this_thread.event = event;
  return before;
}

static void free_owned(weir__ending *ending) {
  weir_event *event = event_of(ending);
  weir__host *host = &event->object.context->host;
  weir__host_unlock_and_wake(host);
  weir__thread before = enter_callback(event);
  weir__watch_call_destroy(event, event->owned.destroy, event->owned.user);
  weir__this_thread = before;
  weir__host_lock(host);
}

static void nothing_to_end(weir__ending *ending) {
  (void)ending;
}

void weir__event_own(weir_event *event, void (*destroy)(void *user), void *user) {
  static const weir__ending_rules rules = {.is_next = may_free, .deliver = free_owned, .end = nothing_to_end};
  event->owned = (weir__owned){.ending = {.rules = &rules, .delivers = true}, .destroy = destroy, .user = user};
  event->ending = &event->owned.ending;
}

void weir__event_drop(weir_event *event) {
  if (--event->references > 0) return;
  if (event->group != NULL) weir__group_drop(event->group);
  if (event->sync != NULL) {
    weir__sync_drop(event->sync);
    event->sync = NULL;
  }
  weir__object_give(&event->object.context->objects.events, &event->object);
}

void weir__event_queue(weir_event *event) {
  weir_context *context = event->object.context;
  event->next_called = NULL;
  context->host.notices.due |= WEIR__DUE_CALLBACKS;
  if (context->callbacks.due_last == NULL)
    context->callbacks.due_first = event;
  else
    context->callbacks.due_last->next_called = event;
  context->callbacks.due_last = event;
}

static void queue_callbacks(weir_event *event) {
  if (event->callbacks == NULL && event->target.done == NULL)
    weir__event_drop(event);
  else
    weir__event_queue(event);
}

static void set_status(weir_event *event, weir_status status) {
  weir__ending *ending = event->ending;
  event->ending = NULL;
  struct weir__awaiting *behind = ending != NULL ? ending->behind : NULL;
  const weir__ending_rules *rules = ending != NULL ? ending->rules : NULL;
  if (ending != NULL) rules->end(ending);
  if (event->child | (event->group != NULL)) weir__family_leave(event, status);
  atomic_store_explicit(&event->status, (uint32_t)status, memory_order_seq_cst);
  if (atomic_load_explicit(&event->sleepers, memory_order_seq_cst) > 0)
    weir__host_wake(&event->object.context->host, &event->status);
  if (behind != NULL) rules->let_go(event->object.context, behind);
  if (!event->target.at_once) return;
  weir__completion_target target = event->target;
  event->target = (weir__completion_target){0};
  target.done(target.user, status);
}

void weir__event_finish(weir_event *event, weir_status status, const char *message) {
  event->tasks--;
  if (event->decided || (status == WEIR_OK && event->tasks > 0)) {
    weir__event_drop(event);
    return;
  }
  if (status == WEIR_OK && event->copy_skipped) {
    status = WEIR_ERROR_UPSTREAM_FAILED;
    message = weir_status_text(status);
  }
  if (status != WEIR_OK) snprintf(event->message, sizeof event->message, "%s", message);
  event->decided = true;
  event->outcome = status;
  if (event->ending != NULL && event->ending->delivers) {
    if (event->ending->rules->is_next(event->ending)) weir__event_queue(event);
    return;
  }
  set_status(event, status);
  queue_callbacks(event);
}

void weir__event_skip_copy(weir_event *event) {
  event->copy_skipped = true;
  weir__event_finish(event, WEIR_OK, "");
}

void weir__host_wake(weir__host *host, _Atomic uint32_t *word) {
  weir__notices *notices = &host->notices;
  if (notices->wake_count == WEIR__MOST_WAKES)
    weir__wake(word, INT32_MAX);
  else
    notices->wakes[notices->wake_count++] = word;
}

void weir__host_unlock_and_wake(weir__host *host) {
  _Atomic uint32_t *wakes[WEIR__MOST_WAKES];
  uint32_t count = host->notices.wake_count;
  for (uint32_t i = 0; i < count; i++) wakes[i] = host->notices.wakes[i];
  host->notices.wake_count = 0;
  weir__lock_release(&host->lock);
  for (uint32_t i = 0; i < count; i++) weir__wake(wakes[i], INT32_MAX);
}

void weir__host_unlock_and_call(weir__host *host) {
  weir_context *context = weir__context_of(host);
  weir__notices *notices = &host->notices;
  if (notices->due & WEIR__DUE_QUEUE) weir__queue_drain(context);
  // Due ones are called by another thread, or further up this one's stack, if that calls some now.
  if (!(notices->due & WEIR__DUE_CALLBACKS) || notices->calling) {
    weir__host_unlock_and_wake(host);
    return;
  }
  notices->calling = true;
  while (context->callbacks.due_first != NULL || weir__profile_is_due(context)) {
    if (weir__profile_is_due(context)) {
      weir__profile_begin(context->profile);
      weir__host_unlock_and_wake(host);
      weir__profile_deliver(context, context->profile);
      weir__context_lock_again(context);
      weir__profile_end(context->profile);
      continue;
    }
    weir_event *event = context->callbacks.due_first;
    if (event->ending != NULL && event->ending->delivers) {
      event->ending->rules->deliver(event->ending);
      event->ending->delivers = false;
      set_status(event, event->outcome);
      continue;
    }
    weir__completion_target due = event->target;
    event->target.done = NULL;
    weir__callback *callback = due.done == NULL ? event->callbacks : NULL;
    if (callback != NULL) {
      event->callbacks = callback->next;
      due = (weir__completion_target){.done = callback->function, .user = callback->user};
      callback->next = context->callbacks.free;
      context->callbacks.free = callback;
    }
    if (due.done == NULL) {
      context->callbacks.due_first = event->next_called;
      if (context->callbacks.due_first == NULL) {
        context->callbacks.due_last = NULL;
        notices->due &= (uint8_t)~WEIR__DUE_CALLBACKS;
      }
      weir__event_drop(event);
      continue;
    }
    weir_status status = (weir_status)atomic_load_explicit(&event->status, memory_order_relaxed);
    weir__host_unlock_and_wake(host);
    weir__thread before = enter_callback(event);
    weir__watch_call_back(event, &due, callback == NULL, status);
    weir__this_thread = before;
    weir__context_lock_again(context);
  }
  notices->calling = false;
  notices->due &= (uint8_t)~WEIR__DUE_CALLBACKS;
  weir__host_unlock_and_wake(host);
}

static weir__callback *take_callback(weir_context *context) {
  if (context->callbacks.free == NULL) {
    // One array per growth; its first element links the arrays for weir_context_release.
    weir__callback *more = weir__allocate(CALLBACKS_AT_ONCE * sizeof *more);
    if (more == NULL) return NULL;
    more[0].next = context->callbacks.arrays;
    context->callbacks.arrays = more;
    for (int i = 1; i < CALLBACKS_AT_ONCE; i++) {
      more[i].next = context->callbacks.free;
      context->callbacks.free = &more[i];
    }
  }
  weir__callback *callback = context->callbacks.free;
  context->callbacks.free = callback->next;
  return callback;
}

bool weir__event_add_callback(weir_event *event, weir_event_function function, void *user) {
  weir_context *context = event->object.context;
  weir__callback *callback = take_callback(context);
  if (callback == NULL) return false;
  *callback = (weir__callback){.function = function, .user = user};
  // While earlier callbacks are still being called, or the task runs, this one queues behind them.
  bool was_done = atomic_load_explicit(&event->status, memory_order_relaxed) != WEIR_PENDING;
  bool being_called = false;
  for (weir_event *called = context->callbacks.due_first; called != NULL; called = called->next_called)
    being_called = being_called || called == event;
  weir__callback **end = &event->callbacks;
  while (*end != NULL) end = &(*end)->next;
  *end = callback;
  if (was_done && !being_called) {
    event->references++;
    queue_callbacks(event);
  }
  return true;
}
