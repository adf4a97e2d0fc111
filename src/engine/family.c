// SPDX-License-Identifier: Apache-2.0
#include "engine/family.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/tsan.h"

enum {
  SPIN_ROUNDS = 64, // who waits for callbacks that others call looks so often before it sleeps,
  SPIN_PAUSES = 16,
  CALLBACKS_WAIT_NS = 20000, // and then sleeps so long between two looks
};

// The event of the task that the calling thread runs a function of; its id is `*out_id`. NULL: it has none.
static weir_event *caller_event(const weir_context *context, weir__id *out_id) {
  const weir__thread *thread = &weir__this_thread;
  const weir__window *window = &context->host.window;
  *out_id = window->next - 1; // as a child of what was submitted last, if it is not known
  if (thread->event != NULL) return thread->event->object.context == context ? thread->event : NULL;
  if (thread->task < window->tasks || thread->task >= window->tasks + window->size) return NULL;
  *out_id = thread->task->id;
  return thread->task->event;
}

weir_status weir__family_find(weir_context *context, weir_group *asked, weir__family *out_family) {
  *out_family = (weir__family){.child = weir__this_thread.in_task, .group = asked};
  if (asked != NULL) {
    weir_status status = weir__object_check(asked, WEIR__KIND_GROUP, context, "submit");
    if (status != WEIR_OK) return status;
  }
  if (!out_family->child) return WEIR_OK;
  const weir_event *parent = caller_event(context, &out_family->root);
  if (parent == NULL) return WEIR_OK;
  out_family->root = parent->root;
  if (parent->group == NULL || (asked != NULL && asked != parent->group)) return WEIR_OK;
  out_family->group = parent->group;
  out_family->turn = parent->turn;
  return WEIR_OK;
}

static void join_children(weir_event *event) {
  weir_context *context = event->object.context;
  event->child = true;
  event->child_kin = (weir__kin){.before = context->children.last};
  if (context->children.last != NULL)
    context->children.last->child_kin.behind = event;
  else
    context->children.first = event;
  context->children.last = event;
}

static void leave_children(weir_event *event) {
  weir_context *context = event->object.context;
  const weir__kin *kin = &event->child_kin;
  event->child = false;
  if (kin->before != NULL)
    kin->before->child_kin.behind = kin->behind;
  else
    context->children.first = kin->behind;
  if (kin->behind != NULL)
    kin->behind->child_kin.before = kin->before;
  else
    context->children.last = kin->before;
}

static void join_group(weir_event *event, weir_group *group, uint64_t turn) {
  event->group = group;
  event->turn = turn != 0 ? turn : ++group->turn;
  if (event->turn <= group->cancelled) event->dropped = true;
  group->references++;
  group->statistics.tasks++;
  event->member_kin = (weir__kin){.before = group->last};
  if (group->last != NULL)
    group->last->member_kin.behind = event;
  else
    group->first = event;
  group->last = event;
}

static void leave_group(weir_event *event, weir_status status) {
  weir_group *group = event->group;
  const weir__kin *kin = &event->member_kin;
  if (kin->before != NULL)
    kin->before->member_kin.behind = kin->behind;
  else
    group->first = kin->behind;
  if (kin->behind != NULL)
    kin->behind->member_kin.before = kin->before;
  else
    group->last = kin->before;
  group->statistics.done++;
  if (status == WEIR_ERROR_UPSTREAM_FAILED)
    group->statistics.skipped++;
  else if (status == WEIR_ERROR_CANCELLED)
    group->statistics.cancelled++;
  else if (status != WEIR_OK)
    group->statistics.failed++;
}

void weir__family_join(weir_event *event, const weir__family *family) {
  if (family->child) {
    event->root = family->root;
    join_children(event);
  }
  if (family->group != NULL) join_group(event, family->group, family->turn);
}

void weir__family_leave(weir_event *event, weir_status status) {
  if (event->child) leave_children(event);
  if (event->group != NULL) leave_group(event, status); // the group stays known to callbacks
}

bool weir__group_note_failure(weir_group *group, weir_status status, const char *text) {
  if (group->object.released) return false;
  if (!weir__failure_is_first(group->failure, status)) return true;
  group->failure = status;
  snprintf(group->text, sizeof group->text, "%s", text);
  return true;
}

void weir__group_drop(weir_group *group) {
  if (--group->references > 0) return;
  weir__sync_drop(group->sync);
  group->sync = NULL;
  weir__object_give(&group->object.context->objects.groups, &group->object);
}

void weir__group_cancel(weir_group *group) {
  weir__window *window = &group->object.context->host.window;
  group->cancelled = group->turn;
  for (weir_event *event = group->first; event != NULL; event = event->member_kin.behind) {
    event->dropped = true;
    if (weir__live(&window->live, event->task)) weir__window_task(window, event->task)->dropped = true;
  }
}

// The newest of the tasks that are waited for; most often it is the last one to end.
static weir_event *newest(const weir_context *context, const weir_group *group, uint64_t target) {
  weir_event *event = group != NULL ? group->last : context->children.last;
  while (event != NULL && (group != NULL ? event->turn > target : event->root >= target))
    event = group != NULL ? event->member_kin.before : event->child_kin.before;
  return event;
}

static bool concerns(const weir_event *event, const weir_group *group, uint64_t target) {
  return group != NULL ? event->group == group && event->turn <= target : event->root < target;
}

// An event whose callbacks are due, or whose end is to be delivered.
static weir_event *due(const weir_context *context, const weir_group *group, uint64_t target) {
  weir_event *event = context->callbacks.due_first;
  while (event != NULL && !concerns(event, group, target)) event = event->next_called;
  return event;
}

static bool await_event(weir_context *context, weir_event *event, uint64_t timeout_ns) {
  event->references++;
  weir__context_unlock(context);
  bool in_time = weir__event_await(event, timeout_ns) != WEIR_TIMEOUT;
  weir__context_lock_again(context);
  weir__event_drop(event);
  return in_time;
}

// Lets another thread call what is due, if this one does not when it releases the lock. Most callbacks take less time than it takes to
// wake up.
static void await_callbacks(weir_context *context, uint32_t round) {
  bool calling = context->host.notices.calling;
  weir__context_unlock(context);
  _Atomic uint32_t nobody = 0;
  bool spins = round < SPIN_ROUNDS && weir__may_spin();
  for (uint32_t i = 0; i < SPIN_PAUSES && calling && spins; i++) weir__pause();
  if (calling && !spins) weir__sleep_on(&nobody, 0, CALLBACKS_WAIT_NS);
  weir__context_lock_again(context);
}

bool weir__family_wait(weir_context *context, const weir_group *group, uint64_t target, uint64_t deadline) {
  uint32_t round = 0;
  for (bool in_time = true; in_time;) {
    weir_event *event = due(context, group, target);
    if (event != NULL && atomic_load_explicit(&event->status, memory_order_relaxed) != (uint32_t)WEIR_PENDING) {
      await_callbacks(context, round++);
      in_time = weir__left_until(deadline) > 0;
      continue;
    }
    if (event == NULL) event = newest(context, group, target);
    if (event == NULL) return true;
    in_time = await_event(context, event, weir__left_until(deadline));
  }
  return false;
}
