// SPDX-License-Identifier: Apache-2.0
//
// State of a program that runs on Weir; shared by program_run.c, program_submit.c and program_check.c.
#ifndef WEIR_TESTS_PROGRAM_RUNNER_H
#define WEIR_TESTS_PROGRAM_RUNNER_H

#include <stdatomic.h>

#include "program_body.h"
#include "program_calls.h"
#include "program_opencl.h"
#include "program_reference.h"
#include "program_run.h"
#include "program_vulkan.h"
#include "weir/box.h"
#include "weir/graph.h"
#include "weir/group.h"
#include "weir/reduce.h"

// The forms of tasks, with all kinds of cards, lie below.
enum { PROGRAM_FORMS = PROGRAM_OPENCL_PLACES * PROGRAM_VULKAN_FORMS };

typedef struct submission {
  _Atomic uint64_t groups_done;
  uint64_t groups_total;
  const program_task *task;                      // of OPERATION_TASK
  bool uncounted;                                // runs on a device that cannot count in `groups_done`
  struct submission *after[PROGRAM_MAX_AFTER];   // tasks that must be done first
  _Atomic bool after_missing[PROGRAM_MAX_AFTER]; // and were not when this one ran
  _Atomic bool bad_call;                         // the function got something that cannot be
  _Atomic uint32_t callbacks;
  _Atomic int callback_status;
  bool callback_attached;
  uint32_t group; // 0: it is in none; else the number of its group + 1
  weir_event *event;
  weir_status polled, waited; // last answers; WEIR_PENDING: none yet
  unsigned char *memory;      // source or destination of a copy
  uint64_t bytes_at_wait;     // hash of the destination when its event was waited for
  bool hashed;
} submission;

typedef struct runner {
  test_program *program;
  const program_options *options;
  weir_context *context;
  weir_kernel *kernels[PROGRAM_KERNELS][PROGRAM_FORMS]; // see form_of
  program_call *calls;                                  // of kernels that are enqueue functions
  weir_kernel *combine;                                 // adds bytes to bytes, where the host runs it
  weir_reduction reductions[PROGRAM_MAX_ACCESSES];      // of the last task
  weir_box boxes[PROGRAM_MAX_ACCESSES];                 // the same
  bool reduces;                                         // some task adds by a reduction
  weir_buffer **buffers;                                // per operation
  unsigned char **wrapped;            // per operation: memory that a buffer is wrapped around, or that fills it
  weir_graph **graphs;                // per operation
  submission *submissions;            // per operation
  weir_status *finish_statuses;       // per operation, of groups, too
  weir_group *groups[PROGRAM_GROUPS]; // made when they are used first
  body_packed packed;                 // description of the last task, where that is packed
  uint64_t submit_count;              // calls that submitted a task
  char *message;
  bool failed;
} runner;

// Records the first thing that is not as expected.
__attribute__((format(printf, 2, 3))) void runner_fail(runner *runner, const char *format, ...);

// Whether a call went well. A refusal drops the operation if refusals are allowed, else it fails the run.
bool runner_accept(runner *runner, uint32_t index, weir_status status, const char *call);

uint64_t runner_hash(const unsigned char *memory, uint64_t bytes);

// program_submit.c: performs one operation.

// Creates the kernels that programs always need.
void runner_create_kernels(runner *runner);

// Whether descriptions are packed, in all programs from now on.
void runner_set_packed(bool packed);
bool runner_is_packed(void);

// The description of a task that runs on the host, from its first argument, and the task; NULL: none of it uses boxes.
body_description runner_description(const void *arg);
const program_task *runner_task(const body_description *description);

// Runs work-groups of a task on the host. args[0] is its description.
void runner_run_groups(void *const *args, uint32_t arg_count, const uint32_t groups[3], uint64_t first, uint64_t end);

void runner_perform(runner *runner, uint32_t index);

// program_check.c: submits the last copies, waits for everything and compares it with the reference.
void runner_check(runner *runner, const reference_result *reference);

#endif // WEIR_TESTS_PROGRAM_RUNNER_H
