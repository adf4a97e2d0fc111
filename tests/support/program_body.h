// SPDX-License-Identifier: Apache-2.0
//
// What the tasks of random programs compute (program_code.h), on the host.
#ifndef WEIR_TESTS_PROGRAM_BODY_H
#define WEIR_TESTS_PROGRAM_BODY_H

#include <sched.h>
#include <string.h>

#include "program.h"
#include "program_code.h"

// Describes a task. Argument number i of the task is description.args[i - 1].
body_description body_describe(const program_task *task);

// False: something is too large for its bits.
bool body_pack(const body_description *description, body_packed *out_packed);

// Fills memory from a seed.
void body_fill(void *memory, uint64_t bytes, uint64_t seed);

// Runs work-groups [first, end). `args` are those behind the description.
void body_run(const body_description *description, void *const *args, const uint32_t groups[3], uint64_t first,
              uint64_t end);

// The same for a task that may use boxes: what is an argument's is gathered before each work-group, and put back.
void body_run_boxes(const body_description *description, const program_task *task, void *const *args,
                    const uint32_t groups[3], uint64_t first, uint64_t end);

// Number of work-groups in a launch.
uint64_t body_group_count(const uint32_t groups[3]);

#endif // WEIR_TESTS_PROGRAM_BODY_H
