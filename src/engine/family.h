// SPDX-License-Identifier: Apache-2.0
//
// Who submitted a task: nobody but the caller's own threads, or a task, as a child. And which group it is in.
//
// A child goes back, by way of tasks that submitted each other, to a *root*, which no task submitted. A child always has an
// event; until it is done it is in a list, so that who waits for a root finds what comes of it. So do tasks of groups. Other
// tasks pay nothing.
#ifndef WEIR_ENGINE_FAMILY_H
#define WEIR_ENGINE_FAMILY_H

#include "engine/submission.h"
#include "weir/group.h"

struct weir_group {
  weir__object object;
  uint64_t references;      // the caller's, and one of each event
  uint64_t turn;            // tasks that came into the group by themselves, not as children of one that is in it
  uint64_t cancelled;       // tasks with a turn up to this one are skipped, if they have not started
  weir_event *first, *last; // its tasks that are not done
  weir_group_statistics statistics;
  struct weir__sync *sync; // the ends of its tasks, where ThreadSanitizer watches; a reference
  weir_status failure;     // WEIR_OK: none, or it was reported
  char text[WEIR__MESSAGE_BYTES];
};

// Who a submission is a child of, and its group.
struct weir__family {
  bool child;
  weir__id root; // of a child
  weir_group *group;
  uint64_t turn; // of a child of a task of the same group; 0: it comes into the group by itself
};

// Finds the family of what the calling thread submits. `asked` is the group that the task names; NULL: none. The lock is held.
weir_status weir__family_find(weir_context *context, weir_group *asked, weir__family *out_family);

// The event's task is one of the family from now on. The lock is held.
void weir__family_join(weir_event *event, const weir__family *family);

// The task is done. The lock is held.
void weir__family_leave(weir_event *event, weir_status status);

// Takes note of the failure of a task of a group. False: nobody would learn of it from the group.
bool weir__group_note_failure(weir_group *group, weir_status status, const char *text);

// Whether a failure takes the place of one that was noted before. What was skipped may be noted before what it was skipped for.
static inline bool weir__failure_is_first(weir_status noted, weir_status status) {
  return noted == WEIR_OK || (noted == WEIR_ERROR_UPSTREAM_FAILED && status != WEIR_ERROR_UPSTREAM_FAILED);
}

void weir__group_drop(weir_group *group); // one reference; the lock is held

// Skips all tasks of a group that came into it so far and have not started. The lock is held.
void weir__group_cancel(weir_group *group);

// Waits until nothing is left of what came of tasks with an id below `target`: children, and callbacks that are due. `group`
// not NULL: of its tasks with a turn up to `target`. The lock is held before and after, not meanwhile. False: `deadline_ns` (0: none) has passed.
bool weir__family_wait(weir_context *context, const weir_group *group, uint64_t target, uint64_t deadline_ns);

#endif // WEIR_ENGINE_FAMILY_H
