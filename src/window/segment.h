// SPDX-License-Identifier: Apache-2.0
//
// A segment: a range of bytes of one buffer whose every byte has the same recent users. It remembers the last task that
// wrote it, the tasks that read it since, and whether its contents are poisoned.
#ifndef WEIR_WINDOW_SEGMENT_H
#define WEIR_WINDOW_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"
#include "window/liveness.h"

enum { WEIR__SEGMENT_INLINE_READERS = 3 };

typedef struct weir__segment {
  weir__id writer;          // 0: none that still matters
  uint32_t reader_count;    //
  uint32_t reader_capacity; // more than INLINE_READERS: `many` is in use
  union {
    weir__id few[WEIR__SEGMENT_INLINE_READERS];
    weir__id *many;
  } readers;
  bool poisoned;
} weir__segment;

// A predecessor that an access ran into.
typedef struct weir__hit {
  weir__id task; // 0: none, the bytes are poisoned by a task that is done
  uint64_t lo, hi;
  uint64_t buffer; // filled in by the caller, for timelines
  uint8_t hazard;  // weir__hazard
  bool data;       // the new task reads what the predecessor wrote
} weir__hit;

// Predecessors found so far for the task that is being submitted.
typedef struct weir__hits {
  weir__hit *list;
  size_t count, capacity;
  bool incomplete; // a predecessor was not listed for lack of memory: wait for all earlier tasks instead
  bool unrecorded; // a reader could not be remembered: later tasks must not be submitted before this one is done
  bool poisoned;   // the task reads poisoned bytes
} weir__hits;

void weir__hits_initialize(weir__hits *hits);
void weir__hits_deinitialize(weir__hits *hits);
void weir__hits_clear(weir__hits *hits);
void weir__hits_add(weir__hits *hits, const weir__hit *hit);

void weir__segment_initialize(weir__segment *segment);

// Frees what the segment holds; afterwards it is as after initialize.
void weir__segment_deinitialize(weir__segment *segment);

// Forgets all users and the poison, but keeps memory for readers.
void weir__segment_reset(weir__segment *segment);

// Copies the users and poison of `source` to `target`. False: no memory; `target` has no users then.
bool weir__segment_copy(weir__segment *target, const weir__segment *source);

// Records that `task` reads, or (also) writes, the segment, whose bytes in question are [lo, hi). Adds the live
// predecessors to `hits`. Cost: constant, and one step per reader that a write finds.
void weir__segment_read(weir__segment *segment, const weir__liveness *liveness, weir__id task, uint64_t lo, uint64_t hi,
                        weir__hits *hits);
void weir__segment_write(weir__segment *segment, const weir__liveness *liveness, weir__id task, bool reads, uint64_t lo,
                         uint64_t hi, weir__hits *hits);

// Its reader_count readers.
const weir__id *weir__segment_readers(const weir__segment *segment);

// Whether no task in flight uses the segment. Forgets users that are done.
bool weir__segment_idle(weir__segment *segment, const weir__liveness *liveness);

#endif // WEIR_WINDOW_SEGMENT_H
