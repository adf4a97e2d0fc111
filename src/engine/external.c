// SPDX-License-Identifier: Apache-2.0
#include "engine/external.h"

#include <stdio.h>

#include "base/allocate.h"
#include "base/error.h"

enum { AWAITING_AT_ONCE = 64 };

static void forget(weir__ending *ending) {
  weir__free(ending);
}

const weir__ending_rules weir__external_rules = {.end = forget}; // it delivers nothing

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
  return external;
}

static void give(weir_context *context, struct weir__awaiting *awaiting) {
  awaiting->next = context->externals.free;
  context->externals.free = awaiting;
  context->externals.free_count++;
}

void weir__external_end(weir_context *context, weir__external *external, weir_status status, const char *message) {
  struct weir__awaiting *waiting = external->waiting;
  char text[WEIR__MESSAGE_BYTES];
  snprintf(text, sizeof text, "%s: %s", external->name, message);
  *external->link = external->next;
  if (external->next != NULL) external->next->link = external->link;
  if (external->import != NULL) external->import->external = NULL;
  weir__event_finish(external->event, status, text); // frees it
  bool any = waiting != NULL;
  while (waiting != NULL) {
    struct weir__awaiting *next = waiting->next;
    weir__task *task = weir__window_task(&context->host.window, waiting->task);
    give(context, waiting);
    weir__host_release(&context->host, task);
    waiting = next;
  }
  if (any && context->devices.flushes) weir__context_flush(context); // who waits for the tasks asked for this before
}

static void end_import(weir__external_fence *fence) {
  weir__external *external = fence->external;
  if (external != NULL) weir__external_end(external->event->object.context, external, fence->status, fence->text);
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

void weir__externals_destroy(weir_context *context) {
  while (context->externals.arrays != NULL) {
    struct weir__awaiting *array = context->externals.arrays;
    context->externals.arrays = array->next;
    weir__free(array);
  }
}

// One array for each growth, whose first element links the arrays.
static bool add_array(weir_context *context) {
  struct weir__awaiting *more = weir__allocate(AWAITING_AT_ONCE * sizeof *more);
  if (more == NULL) return false;
  more[0].next = context->externals.arrays;
  context->externals.arrays = more;
  for (int i = 1; i < AWAITING_AT_ONCE; i++) give(context, &more[i]);
  return true;
}

bool weir__externals_reserve(weir_context *context, weir_event *const *events, uint32_t count) {
  uint32_t needed = 0;
  for (uint32_t i = 0; i < count; i++) needed += weir__external_of(events[i]) != NULL;
  while (context->externals.free_count < needed) {
    if (!add_array(context)) return false;
  }
  return true;
}

void weir__externals_await(weir_context *context, weir__task *task, weir_event *const *events, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    weir__external *external = weir__external_of(events[i]);
    if (external == NULL) continue;
    struct weir__awaiting *awaiting = context->externals.free;
    context->externals.free = awaiting->next;
    context->externals.free_count--;
    *awaiting = (struct weir__awaiting){.task = task->id};
    *external->last_link = awaiting;
    external->last_link = &awaiting->next;
    task->blockers++;
  }
}

// Lets the tasks go on that were cancelled.
static void cancel(weir_context *context, weir__external *external) {
  for (struct weir__awaiting **link = &external->waiting; *link != NULL;) {
    struct weir__awaiting *awaiting = *link;
    weir__task *task = weir__window_task(&context->host.window, awaiting->task);
    if (weir__host_skip_status(&context->host, task) != WEIR_ERROR_CANCELLED) {
      link = &awaiting->next;
      continue;
    }
    *link = awaiting->next;
    if (*link == NULL) external->last_link = link;
    give(context, awaiting);
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
