// SPDX-License-Identifier: Apache-2.0
//
// Who used which bytes last, while the edges of a plan are being found: for each buffer a tree over its intervals.
#ifndef WEIR_GRAPH_PLAN_HAZARDS_H
#define WEIR_GRAPH_PLAN_HAZARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/plan_ancestors.h"
#include "trace/trace.h"

// Users of some neighbouring intervals. Nodes are counted from 1 here; 0: none.
typedef struct weir__plan_users {
  uint32_t writer;       // the last that wrote all of them at once
  uint32_t covered;      // since this one all of them have been written
  uint32_t newest_write; // of some of them
  uint32_t newest_read;
  uint32_t
      readers; // of all of them at once, since: the newest, as a number in `readers` of the hazards, which has the others
} weir__plan_users;

typedef struct weir__plan_reader {
  uint32_t node, next;
} weir__plan_reader;

// A node that must come before the one that is looked at, and the intervals that show it.
typedef struct weir__plan_hazard {
  uint32_t node; // counted from 0
  uint32_t buffer, first, end;
  weir__hazard kind;
} weir__plan_hazard;

typedef struct weir__plan_hazards {
  weir__plan_ancestors *ancestors;
  weir__plan_users *users; // of all buffers
  size_t *trees;           // per buffer, and one more: where its part of `users` begins
  weir__plan_reader *readers;
  uint32_t reader_count, reader_capacity, free_readers;
  weir__plan_hazard *found; // predecessors of the node that is looked at
  uint32_t found_count, found_capacity;
  bool no_memory;
} weir__plan_hazards;

// An access of the node that is looked at: intervals [first, end) of a buffer.
typedef struct weir__plan_access {
  uint32_t buffer, first, end;
  bool reads, writes;
} weir__plan_access;

// `first_cuts` as in the plan: a buffer has one interval less than cuts. False: no memory.
bool weir__plan_hazards_initialize(weir__plan_hazards *hazards, weir__plan_ancestors *ancestors, uint32_t buffer_count,
                                   const uint32_t *first_cuts);
void weir__plan_hazards_deinitialize(weir__plan_hazards *hazards);

// The newest node, counted from 1, that this access may have to come after.
uint32_t weir__plan_hazards_newest(const weir__plan_hazards *hazards, const weir__plan_access *access);

// Adds to `found`, and to the ancestors, what the access must come after: enough of it, so that all else is implied. Nothing
// is recorded.
void weir__plan_hazards_find(weir__plan_hazards *hazards, const weir__plan_access *access);

// Records an access of the node that is looked at, when all of its accesses were looked at.
void weir__plan_hazards_record(weir__plan_hazards *hazards, const weir__plan_access *access);

// Adds to `found`, if it is not known to be an ancestor. `node` is counted from 0.
void weir__plan_hazards_add(weir__plan_hazards *hazards, const weir__plan_hazard *hazard);

#endif // WEIR_GRAPH_PLAN_HAZARDS_H
