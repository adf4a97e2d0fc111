// SPDX-License-Identifier: Apache-2.0
//
// What both kinds of ACS share: the application, the window, and the way onto the device.
#ifndef WEIR_TOOLS_WEIR_ACS_MODEL_H
#define WEIR_TOOLS_WEIR_ACS_MODEL_H

#include "acs.h"

#define WEIR__ACS_NEVER UINT64_MAX

// What a task has to go through yet.
typedef struct weir__acs_progress {
  uint32_t task;
  uint32_t upstream_left;
  uint32_t launches_ended;
  bool became_ready; // as one left the window (HW takes the mark away)
  bool handed_out;   // to a stream (SW)
} weir__acs_progress;

typedef struct weir__acs {
  const weir__sim_profile *profile;
  const weir__acs_settings *settings;
  const weir__acs_task *tasks;
  uint32_t task_count;
  weir__acs_result *result;
  weir__sim_engine *engine;
  weir__acs_progress *progress; // by task
  uint32_t *window;             // tasks in it, in program order
  uint32_t window_count;
  uint32_t available; // tasks that the application has given to ACS
  uint32_t learned;   // tasks that the host knows to be done
  uint64_t resume_ps; // when the application goes on; NEVER: not known yet
  uint32_t full_for;  // the task that found the window full last, + 1
  bool failed;        // no memory
} weir__acs;

// Hands over tasks up to one behind which the application waits.
void weir__acs_submit(weir__acs *acs, uint64_t now_ps);

// The host learns at `seen_ps` that a task is done.
void weir__acs_learn(weir__acs *acs, uint32_t task, uint64_t seen_ps);

// The application goes on: acs->resume_ps has come. False: it has nothing left to do.
bool weir__acs_resume(weir__acs *acs);

// Whether a task has room in the window; counts it among those that had to wait if not.
bool weir__acs_has_room(weir__acs *acs, uint32_t task);

// A task comes into the window, with those in its way that are still there.
void weir__acs_insert(weir__acs *acs, uint32_t task, uint64_t now_ps);

// One leaves it. Marks those that are ready then and were not before.
void weir__acs_remove(weir__acs *acs, uint32_t task, uint64_t now_ps);

// Puts one launch of a task onto the device. `wait`: NULL, or what comes before it.
weir__sim_op *weir__acs_launch(weir__acs *acs, uint32_t task, uint32_t launch, uint64_t arrival_ps, uint32_t queue,
                               weir__sim_op *wait);

// The next task all launches of which have ended; false: none.
bool weir__acs_take(weir__acs *acs, uint32_t *out_task);

// Run to the end.
void weir__acs_run_software(weir__acs *acs);
void weir__acs_run_hardware(weir__acs *acs);

#endif // WEIR_TOOLS_WEIR_ACS_MODEL_H
