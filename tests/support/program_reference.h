// SPDX-License-Identifier: Apache-2.0
//
// Runs a random program one task at a time, in order: what Weir's results are compared with.
#ifndef WEIR_TESTS_PROGRAM_REFERENCE_H
#define WEIR_TESTS_PROGRAM_REFERENCE_H

#include "program.h"

typedef struct reference_buffer {
  unsigned char *memory;
  bool *poisoned; // per byte
  bool live;      // created and not released
} reference_buffer;

typedef struct reference_result {
  const test_program *program;
  reference_buffer *buffers; // per operation
  weir_status *statuses;     // per operation that submits
  unsigned char **copies;    // per OPERATION_COPY_OUT: what the destination holds in the end
  program_task **graphs;     // per OPERATION_GRAPH: its tasks as they are now
  uint64_t submitted, failed;
} reference_result;

// What the destinations of copies hold before.
enum { REFERENCE_UNTOUCHED = 0xee };

void reference_run(reference_result *out_reference, const test_program *program);
void reference_deinitialize(reference_result *reference);

#endif // WEIR_TESTS_PROGRAM_REFERENCE_H
