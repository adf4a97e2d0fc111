// SPDX-License-Identifier: Apache-2.0
//
// External events: they stand for work that Weir does not run, and are outside of the window. A task that comes after
// one has a blocker until it ends, and is in its list. So does a task that comes after a launch of a graph whose copies
// to the caller's memory are still to be made. The lock is held in all of this.
#ifndef WEIR_ENGINE_EXTERNAL_H
#define WEIR_ENGINE_EXTERNAL_H

#include "device/fence.h"
#include "engine/context.h"

enum { WEIR__EXTERNAL_NAME_BYTES = 80 };

typedef struct weir__external weir__external;

// A task that waits.
struct weir__awaiting {
  struct weir__awaiting *next;
  weir__id task;
  weir_device *device; // NULL: the task has a blocker; else this device keeps it behind the import
};

// One that has not ended. It is its event's ending, so that an event knows.
struct weir__external {
  weir__ending ending; // the first member
  weir__external *next, **link;
  weir_event *event;                           // the reference that a task would have
  struct weir__awaiting *waiting, **last_link; // as they came
  weir__external_fence *import;                // what its device watches; NULL: the host signals it
  bool holds;                                  // tasks that wait keep their storage until it ends, cancelled or not
  char name[WEIR__EXTERNAL_NAME_BYTES];        // for messages: "host event 'decoded'"
};

extern const weir__ending_rules weir__external_rules;

// The external event that an event stands for, if it has not ended; else NULL.
static inline weir__external *weir__external_of(const weir_event *event) {
  weir__ending *ending = event->ending;
  return ending != NULL && ending->rules == &weir__external_rules ? (weir__external *)(void *)ending : NULL;
}

// Makes an event that the caller has a reference of. NULL: no memory.
weir__external *weir__external_create(weir_context *context, const char *name);

// The work outside ended. Tasks that waited go on; the external event is gone. `message`: why it failed.
void weir__external_end(weir_context *context, weir__external *external, weir_status status, const char *message);

// Storage of the tasks that wait is never used for anything else, nor freed: the work outside may go on.
void weir__external_leave(weir_context *context, const weir__external *external);

// Nobody can signal it any more: tasks that wait are skipped.
void weir__external_abandon(weir_context *context, weir__external *external, const char *why);

// The context is released. Abandons those of the host; then, once no task waits, ends all that are left.
void weir__externals_abandon(weir_context *context);
void weir__externals_end(weir_context *context);
void weir__externals_destroy(weir_context *context);

// Whether the event's task, done or not, has contents that are still to be brought where the caller wants them.
static inline bool weir__event_brings(const weir_event *event) {
  const weir__ending *ending = event->ending;
  return ending != NULL && ending->rules->let_go != NULL && ending->delivers;
}

// Memory for a task that comes after these events. False: there is none.
bool weir__externals_reserve(weir_context *context, weir_event *const *events, uint32_t count);
// Gives back what was reserved for one task and one event.
void weir__externals_give(weir_context *context, struct weir__awaiting *awaiting);
// The task, which is being submitted, waits for those of the events that are external; memory was reserved. `device`
// (may be NULL) may keep it behind imports itself. Then the task has another blocker, which goes when it is committed,
// so that it is not issued before as a task that others may follow at once.
void weir__externals_await(weir_context *context, weir__task *task, weir_device *device, weir_event *const *events,
                           uint32_t count);

// The task, which is being submitted, waits for contents that the events' tasks are to bring; memory was reserved. And:
// these were brought, and the tasks that waited go on.
void weir__contents_await(weir_context *context, weir__task *task, weir_event *const *events, uint32_t count);
void weir__contents_let_go(weir_context *context, struct weir__awaiting *behind);

// Tasks were cancelled: those among them that wait go on, and are skipped. What waits for an event that holds stays.
void weir__externals_cancel(weir_context *context);

// The name of what a task waits for; NULL: it waits for no external event.
const char *weir__externals_awaited(const weir_context *context, weir__id task);

// Makes an event of an import, which `device` watches from then on. `fence` NULL: the work is done already. On failure
// the fence is the caller's. Takes the lock.
weir_status weir__external_import(weir_device *device, weir__external_fence *fence, const char *name,
                                  weir_event **out_event);

#endif // WEIR_ENGINE_EXTERNAL_H
