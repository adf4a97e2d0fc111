// SPDX-License-Identifier: Apache-2.0
//
// What the tasks of random programs compute: a hash over all that they read, in order, spread over all that they
// write. A hazard that is broken changes bytes.
#ifndef WEIR_TESTS_PROGRAM_BODY_H
#define WEIR_TESTS_PROGRAM_BODY_H

#include "program.h"

// The first argument of each task, a value: what the others are.
typedef struct body_description {
  uint64_t seed;
  uint32_t arg_count; // besides this one
  uint32_t fail_group;
  uint32_t pause;
  struct {
    weir_mode mode;
    uint32_t bytes;
  } args[PROGRAM_MAX_ACCESSES + 1];
} body_description;

// Describes a task. Argument number i of the task is description.args[i - 1].
body_description body_describe(const program_task *task);

// Fills memory from a seed.
void body_fill(void *memory, uint64_t bytes, uint64_t seed);

// Runs work-groups [first, end). args[0] is the description. Group g reads all READ arguments and values and its own
// slice of READ_WRITE arguments; it writes its own slice of WRITE and READ_WRITE arguments.
void body_run(void *const *args, const uint32_t groups[3], uint64_t first, uint64_t end);

// Number of work-groups in a launch.
uint64_t body_group_count(const uint32_t groups[3]);

#endif // WEIR_TESTS_PROGRAM_BODY_H
