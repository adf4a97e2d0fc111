// SPDX-License-Identifier: Apache-2.0
//
// Memory cut at the ends of all accesses of a program: no access covers a part of a interval.
#ifndef WEIR_TOOLS_PLAN_INTERVALS_H
#define WEIR_TOOLS_PLAN_INTERVALS_H

#include "plan/hazards.h"

#define WEIR__PLAN_NONE UINT32_MAX

// An access of a interval that later ones can conflict with.
typedef struct weir__plan_use {
  uint32_t task, buffer;
  uint32_t version; // of the buffer
  uint32_t next;    // readers: index of the next one, or WEIR__PLAN_NONE
} weir__plan_use;

typedef struct weir__plan_interval {
  weir__plan_use writer; // the last one; its task is WEIR__PLAN_NONE when nobody has written it
  uint32_t readers;      // since then: index of the first one, or WEIR__PLAN_NONE
} weir__plan_interval;

typedef struct weir__plan_intervals {
  uint64_t *bases; // per buffer: its first byte in the common space of all intervals
  uint64_t *cuts;  // ascending, each once; interval i is [cuts[i], cuts[i + 1])
  uint32_t cut_count;
  weir__plan_interval *intervals; // one less than the cuts
  weir__plan_use *readers;        // grows
  uint32_t reader_count, reader_capacity;
} weir__plan_intervals;

// Checks the program's accesses and cuts its memory: by the buffers' addresses, or with every buffer on its own.
// Errors as weir__plan_find_hazards; on failure `out_intervals` is empty.
weir_status weir__plan_intervals_create(const weir__plan_program *program, bool by_address,
                                        weir__plan_intervals *out_intervals);

void weir__plan_intervals_free(weir__plan_intervals *intervals);

// The intervals [*out_first, *out_end) that an access covers.
void weir__plan_intervals_of(const weir__plan_intervals *intervals, const weir__plan_access *access,
                             uint32_t *out_first, uint32_t *out_end);

// Notes that a use reads a interval. Errors: OUT_OF_MEMORY.
weir_status weir__plan_intervals_read(weir__plan_intervals *intervals, uint32_t interval, weir__plan_use use);

// Notes that a use writes a interval: the readers so far are forgotten.
void weir__plan_intervals_write(weir__plan_intervals *intervals, uint32_t interval, weir__plan_use use);

#endif // WEIR_TOOLS_PLAN_INTERVALS_H
