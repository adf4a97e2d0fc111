// SPDX-License-Identifier: Apache-2.0
//
// Groups: sets of tasks that are waited for, cancelled and counted together (docs/guide/nesting.md).
//
// A task is in the group that weir_task.group names. What its function, its destroy function and the callbacks of its
// event submit is in the same group: tasks that name no other group, copies, fills and launches of graphs. These are
// *children* of the task. A child that names another group belongs to that one alone.
#ifndef WEIR_GROUP_H
#define WEIR_GROUP_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// Creates an empty group.
// Errors: OUT_OF_MEMORY.
WEIR_API weir_status weir_group_create(weir_context *context, weir_group **out_group);

// Waits until all tasks of the group that were submitted before the call, and their children and children's children in
// the group, are done, for `timeout_ns` nanoseconds at most. Callbacks of these tasks that are due are called first.
// Returns OK, TIMEOUT, which does not affect the tasks, or the status of the first task of the group that failed since
// the last report. A failure is reported at most once: by this function, which weir_last_error() explains, or, if the
// group is released first, by weir_finish. A task that was skipped because another one failed is reported only if
// nothing else is.
// Errors: INVALID_ARGUMENT (called from a task or callback).
WEIR_API weir_status weir_group_wait(weir_group *group, uint64_t timeout_ns);

// Skips the tasks of the group that were submitted before the call and have not started, and all children of tasks that
// were submitted before. A skipped task ends with CANCELLED, and its outputs are poisoned. Running tasks go on. Tasks
// that are submitted to the group later are not affected. Does not wait.
// Errors: none of its own.
WEIR_API weir_status weir_group_cancel(weir_group *group);

// Counts of a group.
typedef struct weir_group_statistics {
  uint64_t tasks;     // submitted tasks, children included
  uint64_t done;      // tasks that finished, failed or were skipped
  uint64_t failed;    // tasks that failed
  uint64_t skipped;   // tasks that were skipped, because they read data of a task that failed
  uint64_t cancelled; // tasks that were skipped, because the group or the context was cancelled
} weir_group_statistics;

// Reads the counts of a group. Does not wait.
// Errors: INVALID_ARGUMENT, RELEASED; then all members are 0.
WEIR_API weir_status weir_group_get_statistics_sized(weir_group *group, weir_group_statistics *out_statistics,
                                                     size_t statistics_size);
static inline weir_status weir_group_get_statistics(weir_group *group_, weir_group_statistics *out_statistics_) {
  return weir_group_get_statistics_sized(group_, out_statistics_, sizeof *out_statistics_);
}

// Releases a group, at any time; its tasks go on. `group` may be NULL.
// Errors: RELEASED.
WEIR_API weir_status weir_group_release(weir_group *group);

#ifdef __cplusplus
}
#endif
#endif // WEIR_GROUP_H
