// SPDX-License-Identifier: Apache-2.0
//
// Events: the state of one task, kept for the caller. All is guarded by the context's lock, but for what waiting threads look at.
#ifndef WEIR_ENGINE_EVENT_H
#define WEIR_ENGINE_EVENT_H

#include "device/host.h"
#include "window/object.h"

typedef struct weir__callback {
  struct weir__callback *next;
  weir_event_function function;
  void *user;
} weir__callback;

// Callbacks of a context.
typedef struct weir__callbacks {
  weir_event *due_first, *due_last; // events whose callbacks are due
  weir__callback *free, *arrays;
} weir__callbacks;

// A part of Weir that submits tasks of its own, and learns of their ends itself.
typedef struct weir__completion_target {
  weir_event_function done; // called like a callback, before all others; needs no memory. NULL: none
  void *user;
  bool at_once;  // `done` is called when the task is completed, with the lock held
  bool reported; // a failure is for weir_finish, too
  // Asked when the task fails, with the lock held. True: it has been given to another device, and is not done. NULL: never.
  bool (*again)(void *user, weir__task *task, const struct weir__completion *completion);
  weir_event *moves; // of transfers that the task needs: their times are summed in it; NULL: they have no event
} weir__completion_target;

// The part of an event's end that belongs to the layer which submitted its task. The functions are called with the lock held.
typedef struct weir__ending weir__ending;
struct weir__awaiting; // engine/external.h
typedef struct weir__ending_rules {
  // The outcome is known, and the ending delivers: whether it may do so now. If not, its layer calls weir__event_queue later.
  bool (*is_next)(const weir__ending *ending);
  // Delivers, where callbacks are called. The lock is released meanwhile.
  void (*deliver)(weir__ending *ending);
  // The event gets its status.
  void (*end)(weir__ending *ending);
  // Lets tasks go that name the event in `after`, once it has its status: they wait for contents that the ending delivers.
  // NULL: it delivers none.
  void (*let_go)(struct weir_context *context, struct weir__awaiting *behind);
} weir__ending_rules;

struct weir__ending {
  const weir__ending_rules *rules;
  bool delivers;                 // contents must be delivered before the event is done; false: not, or it was done
  struct weir__awaiting *behind; // tasks that wait until it has brought contents (engine/external.h)
};

// What a task owns for its function.
typedef struct weir__owned {
  weir__ending ending; // frees it
  void (*destroy)(void *user);
  void *user;
} weir__owned;

// Whom a task that another one submitted goes back to, and the group it is in (engine/family.h).
typedef struct weir__kin {
  weir_event *before, *behind; // in a list of tasks that are not done
} weir__kin;

struct weir_event {
  weir__object object;
  _Atomic uint32_t status; // weir_status; sleepers wait on this word
  _Atomic uint32_t sleepers;
  uint32_t references; // the caller's, the task's, the callback queue's; guarded by the lock
  uint32_t tasks;      // that must still be done: the task, and copies of what it wrote to the caller's memory
  weir__id task, last; // the task; the last of these copies, which follow it at once, or the task. 0: it is queued
  weir__id root;       // the task, or the ancestor of it that no task submitted
  weir__callback *callbacks; // oldest first
  struct weir_event *next_called;
  weir__completion_target target; // of a task of Weir's own
  uint64_t start_ns, end_ns; // of such a task, in its device's time, once it is done; the start may be 0: not noted
  uint64_t moved_ns;         // that tasks which move bytes and have this event took, as far as it is noted
  weir__ending *ending;      // NULL: the event is done as soon as its outcome is known
  bool decided;              // its outcome is known
  bool copy_skipped;         // one of these copies was skipped
  bool child;                // it is in the list of children that are not done
  bool has_target;
  bool dropped; // it was cancelled before it had a slot of the window
  weir_status outcome;
  weir__kin child_kin, member_kin;
  weir_group *group; // NULL: none; a reference
  uint64_t turn;     // in the group: the number of the ancestor with which the task came into it
  struct weir__sync
      *sync; // of the task, where ThreadSanitizer watches; NULL: none, as in an event that nobody has. A reference
  weir__owned owned; // if `ending` is its
  char message[WEIR__MESSAGE_BYTES];
};

// Fails or finishes an event; the lock is held. Drops the task's reference.
void weir__event_finish(weir_event *event, weir_status status, const char *message);

// The same for a copy of what the task wrote that was skipped. It may be done before the task is known to have failed, which
// says more: the event fails by the copy only if nothing else fails it.
void weir__event_skip_copy(weir_event *event);

// An event for a task; `target` may be NULL. NULL: no memory.
weir_event *weir__event_take(weir_context *context, weir__id task, const weir__completion_target *target);
// Has `user` freed before the event is done.
void weir__event_own(weir_event *event, void (*destroy)(void *user), void *user);
// Has a function called when the task is done. The lock is held. False: no memory.
bool weir__event_add_callback(weir_event *event, weir_event_function function, void *user);
// Lets the event's ending deliver, and its callbacks be called; one reference goes to the queue.
void weir__event_queue(weir_event *event);
void weir__event_drop(weir_event *event); // one reference; the lock is held
// weir_event_wait for an event that the caller has a reference of, though it may be released. No lock is held.
weir_status weir__event_await(weir_event *event, uint64_t timeout_ns);

// The start of a wait of the caller's, for a context that traces, and its end: `task` is who was waited for, 0 for all. No
// lock is held.
uint64_t weir__host_wait_begin(weir_context *context);
void weir__host_wait_end(weir_context *context, weir__trace_cause cause, weir__id task, bool reached,
                         uint64_t start_ns);

// weir__context_wait in a submission. The lock is held before and after.
bool weir__submission_wait(weir_context *context, weir__trace_cause cause, weir__id target, uint64_t timeout_ns);

#endif // WEIR_ENGINE_EVENT_H
