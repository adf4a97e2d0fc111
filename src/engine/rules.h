// SPDX-License-Identifier: Apache-2.0
//
// What the end of a task means, by its kind. A function that is NULL has nothing to do for tasks that run code.
#ifndef WEIR_ENGINE_RULES_H
#define WEIR_ENGINE_RULES_H

#include "device/host.h"

typedef struct weir__task_rules {
  const char *name; // of a task without a kernel, in messages and timelines

  // The status with which the task must be skipped, if that does not follow from cancelling and poison as for others. With
  // the lock or without, as for all devices' threads.
  weir_status (*skip_status)(weir__host *host, const weir__task *task);

  // What follows is called with the lock held.

  // Takes over what its dependences say of a task that is being submitted, instead of arguments.
  void (*bind)(weir_context *context, weir__task *task, const weir__dependences *dependences);

  // A task that is being submitted reads what this one, which is in flight, writes. `box`: see weir__dependence_box.
  void (*note_reader)(const weir__task *task, const weir__dependence *dependence, const weir_box *box, weir__id reader);

  // `predecessor` failed, whose data the task reads.
  void (*upstream_failed)(weir_context *context, weir__task *task, weir__id predecessor);

  // Whether a task that ended so has lost nothing, and did not fail.
  bool (*pardons)(const weir__task *task, weir_status status);

  // The task failed: what it should have written is poisoned.
  void (*failed)(weir_context *context, weir__task *task, const weir__completion *completion);

  // Whether the task has marked those that read its poisoned outputs itself, so that not all its readers are to be skipped.
  bool (*marks_readers)(const weir_context *context, const weir__completion *completion);

  // Adds more to the timeline than the task's own record.
  void (*trace)(const weir__task *task);

  // What the task's event says, if that does not follow from how the task ended.
  weir_status (*event_status)(const weir__task *task, weir_status status);

  // The task is done, and its event is told.
  void (*done)(weir_context *context, weir__task *task);
} weir__task_rules;

// By weir__task_kind: those that the engine knows; that of graph launches (graph/rules.c).
extern const weir__task_rules weir__kernel_rules, weir__host_rules, weir__copy_rules, weir__transfer_rules,
    weir__fence_rules, weir__open_rules, weir__launch_rules;

#endif // WEIR_ENGINE_RULES_H
