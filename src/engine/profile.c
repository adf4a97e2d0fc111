// SPDX-License-Identifier: Apache-2.0
#include "engine/profile.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "device/graph.h"
#include "engine/rules.h"
#include "engine/watch.h"

enum { FIRST_RECORDS = 64 };

weir__profile *weir__profile_create(weir_profile_function function, void *user) {
  weir__profile *profile = weir__allocate_zeroed(sizeof *profile);
  if (profile == NULL) return NULL;
  profile->function = function;
  profile->user = user;
  return profile;
}

void weir__profile_destroy(weir__profile *profile) {
  if (profile == NULL) return;
  weir__free(profile->noted.records);
  weir__free(profile->given.records);
  weir__free(profile);
}

static bool grow(weir__profile_list *list) {
  size_t capacity = list->capacity == 0 ? FIRST_RECORDS : 2 * list->capacity;
  weir__profile_record *larger = weir__allocate(capacity * sizeof *larger);
  if (larger == NULL) return false;
  if (list->count > 0) memcpy(larger, list->records, list->count * sizeof *larger);
  weir__free(list->records);
  list->records = larger;
  list->capacity = capacity;
  return true;
}

// The task's device; in check mode the one that was asked for.
static weir_device *device_of(const weir_context *context, const weir__task *task) {
  const weir_device *checker = context->devices.checker;
  if (checker == NULL || task->device != checker->index) return context->host.devices[task->device];
  if (task->run != NULL) return task->run->plan->asked;
  return context->host.devices[task->asked != WEIR__NO_CHECK ? task->asked : task->device];
}

// A record for an event of the task; NULL: no memory, or one of the checker's own tasks.
static weir__profile_record *note(weir_context *context, const weir__task *task, weir_profile_what what,
                                  uint64_t time_ns) {
  weir__profile *profile = context->profile;
  if (context->devices.checker != NULL && task->device != context->devices.checker->index) return NULL;
  if (profile->noted.count == profile->noted.capacity && !grow(&profile->noted)) return NULL;
  weir__profile_record *record = &profile->noted.records[profile->noted.count++];
  record->event = (weir_profile_event){.what = what,
                                       .status = WEIR_PENDING,
                                       .task = task->id,
                                       .tag = task->tag,
                                       .device = device_of(context, task),
                                       .time_ns = time_ns};
  const char *label = task->labelled ? context->devices.labels[task->id & context->host.window.live.mask] : "";
  const char *kernel = task->kernel != NULL ? task->kernel->name : context->rules[task->kind]->name;
  snprintf(record->label, sizeof record->label, "%s", label);
  snprintf(record->kernel, sizeof record->kernel, "%s", kernel);
  context->host.notices.due |= WEIR__DUE_CALLBACKS;
  return record;
}

void weir__profile_ready(weir_context *context, const weir__task *task) {
  weir_device *device = context->host.devices[task->device];
  note(context, task, WEIR_PROFILE_READY, device->ops->time(device));
}

void weir__profile_done(weir_context *context, const weir__task *task, const weir__completion *completion) {
  weir_device *device = context->host.devices[task->device];
  uint64_t end_ns = completion->end_ns != 0 ? completion->end_ns : device->ops->time(device);
  bool ran = completion->status == WEIR_OK || completion->status == WEIR_ERROR_TASK_FAILED;
  if (ran) {
    uint64_t start_ns = completion->start_ns != 0 ? completion->start_ns : end_ns;
    weir__profile_record *start = note(context, task, WEIR_PROFILE_START, start_ns);
    if (start != NULL) start->event.lane = completion->lane;
  }
  weir__profile_record *end = note(context, task, WEIR_PROFILE_END, end_ns);
  if (end == NULL) return;
  end->event.lane = completion->lane;
  end->event.status = completion->status;
}

void weir__profile_begin(weir__profile *profile) {
  weir__profile_list list = profile->noted;
  profile->noted = profile->given;
  profile->given = list;
  profile->delivers = true;
}

// A call in ThreadSanitizer's eyes: after those before it, and after what it reports.
typedef struct watched_call {
  weir__watch *watch;
  const weir__profile *profile;
  const weir_profile_event *event;
} watched_call;

static void call_watched(void *argument) {
  const watched_call *self = argument;
  weir__tsan_ignore(); // the thread's own stack
  weir_profile_event event = *self->event;
  weir__tsan_heed();
  weir__tsan_acquire(&self->watch->profile);
  weir__tsan_acquire(&self->watch->all->end);
  self->profile->function(self->profile->user, &event);
  weir__tsan_release(&self->watch->profile);
  weir__tsan_release(&self->watch->all->end);
}

static void call(const weir_context *context, const weir__profile *profile, const weir_profile_event *event) {
  watched_call watched = {.watch = context->host.watch, .profile = profile, .event = event};
  if (watched.watch != NULL)
    weir__tsan_call(call_watched, &watched);
  else
    profile->function(profile->user, event);
}

void weir__profile_deliver(const weir_context *context, weir__profile *profile) {
  weir__thread before = weir__this_thread;
  weir__this_thread.in_task = true;
  for (size_t i = 0; i < profile->given.count; i++) {
    weir_profile_event event = profile->given.records[i].event;
    event.label = profile->given.records[i].label;
    event.kernel = profile->given.records[i].kernel;
    call(context, profile, &event);
  }
  weir__this_thread = before;
}

void weir__profile_end(weir__profile *profile) {
  profile->given.count = 0;
  profile->delivers = false;
}
