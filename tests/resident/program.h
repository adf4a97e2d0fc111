// SPDX-License-Identifier: Apache-2.0
//
// Random programs for the resident scheduler. Tasks read and write cells, which are plain memory; their edges are the hazards
// among them. So a thread sanitizer proves that the protocol orders what it must, and cells end as in a serial run.
#ifndef WEIR_TESTS_RESIDENT_PROGRAM_H
#define WEIR_TESTS_RESIDENT_PROGRAM_H

#include "rig.h"

enum { PROGRAM_CELLS = 10, PROGRAM_WIDTH = 8, PROGRAM_READS = 3, PROGRAM_WRITES = 2 };

typedef struct program_step {
  struct test_program *program;
  uint32_t index; // the task's number is base + 1 + index
  uint32_t units, per_entry, timed;
  bool joins; // the task has no function
  uint32_t read_count, reads[PROGRAM_READS];
  uint32_t write_count, writes[PROGRAM_WRITES]; // each of them may be read by the unit that writes it
  uint32_t edge_count, edges[WEIR__R_EDGES];    // indexes of earlier steps
  uint8_t *ran;                                 // per unit: how often it ran
  uint64_t start_ns, end_ns;
  uint32_t reports;
} program_step;

typedef struct test_program {
  test_rig *rig;
  uint32_t count, capacity;
  program_step *steps;
  uint64_t cells[PROGRAM_CELLS][PROGRAM_WIDTH], expected[PROGRAM_CELLS][PROGRAM_WIDTH];
  uint64_t last_start_ns[WEIR__R_SLOTS]; // per slot: of the timed task that was reported last
} test_program;

// About `tasks` of them, of up to `most_units` units each.
void program_create(test_program *program, uint64_t seed, uint32_t tasks, uint32_t most_units);
void program_destroy(test_program *program);

// Runs it on a rig on which nothing has run, and checks all that can be. The rig is at rest in the end.
void program_run(test_program *program, test_rig *rig, uint64_t seed);

#endif // WEIR_TESTS_RESIDENT_PROGRAM_H
