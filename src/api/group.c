// SPDX-License-Identifier: Apache-2.0
//
// Groups as the caller sees them.
#include "weir/group.h"

#include "base/error.h"
#include "base/structs.h"
#include "engine/external.h"
#include "engine/family.h"
#include "engine/process.h"
#include "engine/watch.h"

weir_status weir_group_create(weir_context *context, weir_group **out_group) {
  if (out_group == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "group create: out_group is NULL");
  *out_group = NULL;
  if (context == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "group create: the context is NULL");
  weir__context_lock_to_submit(context);
  weir_group *group = (weir_group *)weir__object_take(&context->objects.groups, context, UINT64_MAX);
  if (group != NULL) {
    group->references = 1;
    group->turn = group->cancelled = 0;
    group->first = group->last = NULL;
    group->statistics = (weir_group_statistics){0};
    group->failure = WEIR_OK;
    group->sync = weir__sync_create();
  }
  weir__context_unlock(context);
  if (group == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "group create: no memory");
  *out_group = group;
  return WEIR_OK;
}

static weir_status report(weir_group *group) {
  weir_status status = group->failure;
  group->failure = WEIR_OK;
  return status == WEIR_OK ? WEIR_OK : weir__error(status, "%s", group->text);
}

weir_status weir_group_wait(weir_group *group, uint64_t timeout_ns) {
  weir_status status = weir__object_check(group, WEIR__KIND_GROUP, NULL, "group wait");
  if (status != WEIR_OK) return status;
  weir_context *context = group->object.context;
  status = weir__check_waiter(context, "group wait");
  if (status != WEIR_OK) return status;
  uint64_t deadline = weir__deadline_after(timeout_ns);
  weir__context_lock_until(context, deadline); // tasks of groups are never held back
  weir__context_flush(context);
  group->references++;
  if (weir__family_wait(context, group, group->turn, deadline)) {
    weir__watch_acquire(group->sync);
    status = report(group);
  } else {
    uint64_t left = group->statistics.tasks - group->statistics.done;
    status = weir__error(WEIR_TIMEOUT, "group wait: the time is over; %llu tasks of the group are not done",
                         (unsigned long long)left);
  }
  weir__group_drop(group);
  weir__context_unlock(context);
  return status;
}

weir_status weir_group_cancel(weir_group *group) {
  weir_status status = weir__object_check(group, WEIR__KIND_GROUP, NULL, "group cancel");
  if (status != WEIR_OK) return status;
  weir__context_lock_to_submit(group->object.context); // tasks of groups are never held back
  weir__group_cancel(group);
  weir__externals_cancel(group->object.context);
  weir__context_unlock(group->object.context);
  return WEIR_OK;
}

weir_status weir_group_get_statistics_sized(weir_group *group, weir_group_statistics *out_statistics,
                                            size_t statistics_size) {
  if (out_statistics == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "group statistics: out_statistics is NULL");
  weir_group_statistics statistics = {0};
  weir_status status = weir__object_check(group, WEIR__KIND_GROUP, NULL, "group statistics");
  if (status == WEIR_OK) {
    weir__context_lock_to_submit(group->object.context);
    statistics = group->statistics;
    weir__context_unlock(group->object.context);
  }
  weir__struct_give(out_statistics, statistics_size, &statistics, sizeof statistics);
  return status;
}

weir_status weir_group_release(weir_group *group) {
  if (group == NULL) return WEIR_OK;
  weir_status status = weir__object_check(group, WEIR__KIND_GROUP, NULL, "group release");
  if (status != WEIR_OK) return status;
  weir_context *context = group->object.context;
  weir__context_lock_to_submit(context);
  if (group->object.released) {
    status = weir__error(WEIR_ERROR_RELEASED, "group release: the group was released before");
  } else {
    group->object.released = true;
    // A failure that nobody asked for is weir_finish's to report.
    if (group->failure != WEIR_OK) weir__context_note_text(context, 0, group->failure, group->text);
    weir__group_drop(group);
  }
  weir__context_unlock(context);
  return status;
}
