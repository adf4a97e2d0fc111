// SPDX-License-Identifier: Apache-2.0
#include "engine/external.h"

#include <stdio.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/tsan.h"
#include "engine/lost.h"

weir__external *weir__external_create(weir_context *context, const char *name) {
  weir__external *external = weir__allocate_zeroed(sizeof *external);
  weir_event *event = external != NULL ? weir__event_take(context, 0, NULL) : NULL;
  if (event == NULL) {
    weir__free(external);
    return NULL;
  }
  weir__external **first = &context->externals.first;
  *external = (weir__external){.ending.rules = &weir__external_rules, .next = *first, .link = first, .event = event};
  external->last_link = &external->waiting;
  snprintf(external->name, sizeof external->name, "%s", name);
  if (*first != NULL) (*first)->link = &external->next;
  *first = external;
  event->ending = &external->ending;
  if (context->host.watch != NULL) event->sync = weir__sync_create();
  return external;
}

// The task was put behind an import that is over, and perhaps behind others: those that come after it may follow it in
// its device's queues once all are.
static void follow_in_queues(weir_context *context, weir__id id) {
  weir__window *window = &context->host.window;
  if (!weir__live(&window->live, id) || weir__externals_awaited(context, id) != NULL) return;
  weir__task *task = weir__window_task(window, id);
  task->awaits = false;
  if (task->blockers > 0) return;
  task->issued = true;
  weir__window_issued(window, task);
  weir__context_issue_ready(context);
}

void weir__external_end(weir_context *context, weir__external *external, weir_status status, const char *message) {
  struct weir__awaiting *waiting = external->waiting;
  weir__external_fence *import = external->import;
  char text[WEIR__MESSAGE_BYTES];
  snprintf(text, sizeof text, "%s: %s", external->name, message);
  *external->link = external->next;
  if (external->next != NULL) external->next->link = external->link;
  if (import != NULL) import->external = NULL;
  weir__event_finish(external->event, status, text); // frees it
  bool any = waiting != NULL;
  while (waiting != NULL) {
    struct weir__awaiting *next = waiting->next;
    weir_device *device = waiting->device;
    weir__id id = waiting->task;
    weir__externals_give(context, waiting);
    if (device != NULL) {
      device->ops->forget_import(device, import);
      follow_in_queues(context, id);
    } else {
      weir__host_release(&context->host, weir__window_task(&context->host.window, id));
    }
    waiting = next;
  }
  if (any && context->devices.flushes) weir__context_flush(context); // who waits for the tasks asked for this before
}

static void end_import(weir__external_fence *fence) {
  weir__external *external = fence->external;
  if (external != NULL) weir__external_end(external->event->object.context, external, fence->status, fence->text);
}

void weir__external_leave(weir_context *context, const weir__external *external) {
  for (const struct weir__awaiting *waiting = external->waiting; waiting != NULL; waiting = waiting->next)
    weir__storage_leave(context, weir__window_task(&context->host.window, waiting->task));
}

void weir__external_abandon(weir_context *context, weir__external *external, const char *why) {
  for (const struct weir__awaiting *waiting = external->waiting; waiting != NULL; waiting = waiting->next)
    weir__window_task(&context->host.window, waiting->task)->dropped = true;
  weir__external_end(context, external, WEIR_ERROR_CANCELLED, why);
}

void weir__externals_abandon(weir_context *context) {
  for (weir__external *external = context->externals.first, *next; external != NULL; external = next) {
    next = external->next;
    if (external->import == NULL)
      weir__external_abandon(context, external, "its context was released before it was signalled");
  }
}

void weir__externals_end(weir_context *context) {
  while (context->externals.first != NULL)
    weir__external_abandon(context, context->externals.first, "its context was released before it was done");
}

static bool is_kept_by(weir_device *device, const weir__task *task, weir__external_fence *import) {
  return import != NULL && device != NULL && device->ops->await_import != NULL &&
         device->ops->await_import(device, task->id, import);
}

static struct weir__awaiting *take_awaiting(weir_context *context) {
  struct weir__awaiting *awaiting = context->externals.free;
  context->externals.free = awaiting->next;
  context->externals.free_count--;
  return awaiting;
}

void weir__contents_await(weir_context *context, weir__task *task, weir_event *const *events, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (!weir__event_brings(events[i])) continue;
    struct weir__awaiting **link = &events[i]->ending->behind;
    while (*link != NULL) link = &(*link)->next;
    *link = take_awaiting(context);
    **link = (struct weir__awaiting){.task = task->id};
    task->blockers++;
  }
}

void weir__contents_let_go(weir_context *context, struct weir__awaiting *behind) {
  while (behind != NULL) {
    struct weir__awaiting *next = behind->next;
    weir__id task = behind->task;
    weir__externals_give(context, behind);
    weir__host_release(&context->host, weir__window_task(&context->host.window, task));
    behind = next;
  }
  if (context->devices.flushes) weir__context_flush(context); // who waits for the tasks asked for this before
}

void weir__externals_await(weir_context *context, weir__task *task, weir_device *device, weir_event *const *events,
                           uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    weir__external *external = weir__external_of(events[i]);
    if (external == NULL) continue;
    bool kept = is_kept_by(device, task, external->import);
    // It was cancelled before it entered: nobody lets it go later.
    if (task->dropped && !kept && !external->holds) continue;
    struct weir__awaiting *awaiting = take_awaiting(context);
    *awaiting = (struct weir__awaiting){.task = task->id, .device = kept ? device : NULL};
    *external->last_link = awaiting;
    external->last_link = &awaiting->next;
    if (kept)
      task->awaits = true;
    else
      task->blockers++;
  }
  if (task->awaits) task->blockers++;
}

// Lets the tasks go on that were cancelled.
static void cancel(weir_context *context, weir__external *external) {
  for (struct weir__awaiting **link = &external->waiting; *link != NULL;) {
    struct weir__awaiting *awaiting = *link;
    weir__task *task = weir__window_task(&context->host.window, awaiting->task);
    if (external->holds || awaiting->device != NULL ||
        weir__host_skip_status(&context->host, task) != WEIR_ERROR_CANCELLED) {
      link = &awaiting->next;
      continue;
    }
    *link = awaiting->next;
    if (*link == NULL) external->last_link = link;
    weir__externals_give(context, awaiting);
    weir__host_release(&context->host, task);
  }
}

void weir__externals_cancel(weir_context *context) {
  for (weir__external *external = context->externals.first; external != NULL; external = external->next)
    cancel(context, external);
}

weir_status weir__external_import(weir_device *device, weir__external_fence *fence, const char *name,
                                  weir_event **out_event) {
  weir_context *context = weir__context_of(device->host);
  weir__context_lock(context);
  weir__external *external = weir__external_create(context, name);
  if (external != NULL) {
    *out_event = external->event;
    external->import = fence;
  }
  if (external != NULL && fence != NULL) {
    fence->external = external;
    fence->device = device;
    fence->ended = end_import;
    device->ops->stall(device, fence);
  } else if (external != NULL) {
    weir__external_end(context, external, WEIR_OK, "");
  }
  weir__context_unlock(context);
  return external != NULL ? WEIR_OK : weir__error(WEIR_ERROR_OUT_OF_MEMORY, "import of %s: no memory", name);
}
