// SPDX-License-Identifier: Apache-2.0
//
// Hazards between the tasks of a program that is known as a whole, from what each of them reads and writes.
//
// This is the yardstick for src/window, which finds hazards while a program runs, and shares nothing with it: all
// accesses are known, so memory is cut once at every first and last byte of an access, and each interval keeps its last
// writer and the readers since.
#ifndef WEIR_TOOLS_PLAN_HAZARDS_H
#define WEIR_TOOLS_PLAN_HAZARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/graph.h"
#include "weir/weir.h"

// Which tasks have to wait for which.
typedef enum weir__plan_mode {
  WEIR__PLAN_SERIAL = 0,  // every task for the one before it
  WEIR__PLAN_ADDRESS = 1, // conflicts of byte ranges at the buffers' addresses; nothing is renamed
  WEIR__PLAN_BUFFER = 2,  // conflicts of byte ranges of logical buffers; a WRITE that covers a buffer renames it
} weir__plan_mode;

typedef enum weir__plan_kind {
  WEIR__PLAN_RAW = 0,       // reads what the predecessor wrote
  WEIR__PLAN_WAR = 1,       // writes what the predecessor reads
  WEIR__PLAN_WAW = 2,       // writes what the predecessor wrote
  WEIR__PLAN_ORDER = 3,     // SERIAL: comes next in the program
  WEIR__PLAN_HOST_WAIT = 4, // the host waited for the predecessor before it submitted this task
} weir__plan_kind;

typedef struct weir__plan_access {
  weir_mode mode;  // READ, WRITE or READ_WRITE
  uint32_t buffer; // index
  uint64_t offset, bytes;
} weir__plan_access;

typedef struct weir__plan_task {
  const weir__plan_access *accesses; // those that overlap within a task cause no hazard with each other
  uint32_t access_count;
  bool host_wait; // everything submitted later comes after this task
} weir__plan_task;

typedef struct weir__plan_buffer {
  uint64_t bytes;
  uint64_t address; // where it lies, for ADDRESS; buffers may share addresses, as when one is freed before the other
} weir__plan_buffer;

typedef struct weir__plan_program {
  const weir__plan_buffer *buffers;
  uint32_t buffer_count;
  const weir__plan_task *tasks;
  uint32_t task_count;
} weir__plan_program;

// One reason why a task has to wait for another one.
typedef struct weir__plan_hazard {
  uint32_t predecessor, successor; // tasks
  weir__plan_kind kind;
  bool vanishes;               // renaming removes it: the two tasks use different buffers, or different versions
                               // of one, a version being what a WRITE that covers the buffer starts
  uint32_t buffer;             // RAW, WAR, WAW: the successor's buffer and the bytes [lo, hi) of it in common,
  uint64_t lo, hi;             // as long as possible
  uint32_t predecessor_buffer; // the predecessor's: another one when, by address, one was put where the other was
} weir__plan_hazard;

typedef struct weir__plan_hazards {
  weir__plan_hazard *items; // sorted by successor, predecessor, kind, buffer, predecessor's buffer, lo
  size_t count;
} weir__plan_hazards;

// Finds the hazards of a program. Between two writes of a byte stand the hazards with the write before and with every
// read since; older ones are implied. BUFFER finds those that vanish as well. On failure `out_hazards` is empty.
// Errors: INVALID_ARGUMENT (an access that leaves its buffer, has an unknown buffer or mode, a buffer that wraps around
// the end of memory), OUT_OF_MEMORY.
weir_status weir__plan_find_hazards(const weir__plan_program *program, weir__plan_mode mode,
                                    weir__plan_hazards *out_hazards);

void weir__plan_hazards_free(weir__plan_hazards *hazards);

// The graph of all hazards, or, `renamed`, of those that do not vanish. Errors as weir__plan_graph_build.
weir_status weir__plan_hazard_graph(uint32_t task_count, const weir__plan_hazards *hazards, bool renamed,
                                    weir__plan_graph *out_graph);

// "RAW", "WAR", "WAW", "order" or "host wait".
const char *weir__plan_kind_name(weir__plan_kind kind);

#endif // WEIR_TOOLS_PLAN_HAZARDS_H
