// SPDX-License-Identifier: Apache-2.0
//
// A segment: a range of bytes of one buffer whose every byte has the same recent users. It remembers the last task that
// wrote it, the tasks that read it since, and whether its contents are poisoned.
//
// Tasks that COMMUTE are in any order among themselves. Those that nothing came between are a SET, which stands where a writer
// would: each of its tasks comes after the writer and all readers before the set, and who reads or writes next comes after
// the whole set. A reader ends a set: tasks that commute after it begin another one, which reads what the former set left.
//
// The functions that every access goes through are inline; the rest is in segment.c.
#ifndef WEIR_WINDOW_SEGMENT_H
#define WEIR_WINDOW_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/liveness.h"
#include "trace/trace.h"
#include "weir/box.h"

enum { WEIR__SEGMENT_INLINE_READERS = 3, WEIR__ID_ARRAY_SIZES = 28, WEIR__ID_ARRAY_SMALLEST = 8 };

typedef struct weir__segment {
  weir__id writer;          // 0: none that still matters
  uint32_t reader_count;    //
  uint32_t reader_capacity; // more than INLINE_READERS: `many` is in use
  union {
    weir__id few[WEIR__SEGMENT_INLINE_READERS];
    weir__id *many;
  } readers;
  union {
    struct {
      uint32_t poisoned; // 0: not; else the number of the failure that did it (engine/failures.h)
      bool commutes;     // there was a set since the last writer: readers have tags
      uint8_t unused[3]; // 0
    };
    uint64_t odd; // not 0: either of these
  };
} weir__segment;

// Tags of readers where `commutes`.
#define WEIR__READER_BEFORE UINT64_C(0)           // read before the set
#define WEIR__READER_FORMER (UINT64_C(1) << 62)   // of the set before
#define WEIR__READER_COMMUTES (UINT64_C(2) << 62) // of the set
#define WEIR__READER_AFTER (UINT64_C(3) << 62)    // reads what the set left
#define WEIR__READER_TAG (UINT64_C(3) << 62)

// Arrays for readers that no segment uses now, by size: SMALLEST, twice that, and so on. The first element of each holds
// the address of the next.
typedef struct weir__id_arrays {
  weir__id *free[WEIR__ID_ARRAY_SIZES];
} weir__id_arrays;

// A predecessor that an access ran into.
typedef struct weir__dependence {
  weir__id task; // 0: none, the bytes are poisoned by a task that is done
  uint64_t lo, hi;
  uint64_t buffer; // filled in by the caller, for timelines
  uint8_t hazard;  // weir__hazard
  bool data;       // the new task reads what the predecessor wrote
  uint32_t box;    // 0: about all of [lo, hi); else about a box that begins at `lo`, which weir__dependence_box gives
} weir__dependence;

// Predecessors found so far for the task that is being submitted.
typedef struct weir__dependences {
  weir__dependence *list;
  size_t count, capacity;
  weir__id_arrays *arrays; // where segments take arrays from and leave them; NULL: they are allocated
  bool incomplete;         // a predecessor was not listed for lack of memory: wait for all earlier tasks instead
  bool unlisted_data;      // the new task may read what one of those wrote
  bool unrecorded;   // a reader could not be remembered: later tasks must not be submitted before this one is done
  uint32_t poisoned; // not 0: the task reads poisoned bytes; of the first ones, the number
  bool exact; // which rows of a box a dependence is about is wanted, where there is memory; cleared with the rest
  weir_box *boxes;
  uint32_t box_count, box_capacity;
} weir__dependences;

void weir__dependences_initialize(weir__dependences *dependences);
void weir__dependences_deinitialize(weir__dependences *dependences);
bool weir__dependences_grow(weir__dependences *dependences);

static inline void weir__dependences_clear(weir__dependences *dependences) {
  dependences->count = 0;
  dependences->incomplete = dependences->unlisted_data = dependences->unrecorded = false;
  dependences->poisoned = dependences->box_count = 0;
  dependences->exact = false;
}

// In plain form; NULL: the dependence is about all of [lo, hi).
static inline const weir_box *weir__dependence_box(const weir__dependences *dependences,
                                                   const weir__dependence *dependence) {
  return dependence->box == 0 ? NULL : &dependences->boxes[dependence->box - 1];
}

// The dependences from number `first` on are about this box, which begins where they do.
void weir__dependences_set_box(weir__dependences *dependences, size_t first, const weir_box *box);

static inline void weir__dependences_add(weir__dependences *dependences, weir__id task, weir__hazard hazard, bool data,
                                         uint64_t lo, uint64_t hi) {
  if (dependences->count == dependences->capacity && !weir__dependences_grow(dependences)) {
    dependences->incomplete = true;
    dependences->unlisted_data |= data;
    return;
  }
  weir__dependence *dependence = &dependences->list[dependences->count++];
  dependence->task = task;
  dependence->lo = lo;
  dependence->hi = hi;
  dependence->hazard = (uint8_t)hazard;
  dependence->data = data;
  dependence->box = 0;
}

void weir__id_arrays_deinitialize(weir__id_arrays *arrays);

void weir__segment_initialize(weir__segment *segment);

// Frees what the segment holds; afterwards it is as after initialize.
void weir__segment_deinitialize(weir__segment *segment);

// Forgets all users and the poison, but keeps memory for readers.
static inline void weir__segment_reset(weir__segment *segment) {
  segment->writer = 0;
  segment->reader_count = 0;
  segment->odd = 0;
}

// The same, and leaves the memory for readers in `arrays`.
void weir__segment_empty(weir__segment *segment, weir__id_arrays *arrays);

// Copies the users and poison of `source` to `target`. False: no memory; `target` has no readers then.
bool weir__segment_copy(weir__segment *target, const weir__segment *source, weir__id_arrays *arrays);

// Its reader_count readers.
static inline const weir__id *weir__segment_readers(const weir__segment *segment) {
  return segment->reader_capacity > WEIR__SEGMENT_INLINE_READERS ? segment->readers.many : segment->readers.few;
}

// The task that an entry of the readers stands for.
static inline weir__id weir__reader_task(weir__id reader) {
  return reader & ~WEIR__READER_TAG;
}

// Makes room for one more reader. False: no memory.
bool weir__segment_make_room(weir__segment *segment, const weir__liveness *liveness, weir__id_arrays *arrays);

// Notes that the task reads bytes that are poisoned, by the failure with this number.
void weir__dependences_add_poison(weir__dependences *dependences, uint32_t poisoned, uint64_t lo, uint64_t hi);

// Whether no task in flight uses the segment. Forgets users that are done.
bool weir__segment_idle(weir__segment *segment, const weir__liveness *liveness);

// The rare cases of weir__segment_read and _write: there was a set since the last writer.
void weir__segment_read_set(weir__segment *segment, const weir__liveness *liveness, weir__id task, uint64_t lo,
                            uint64_t hi, weir__dependences *dependences);
void weir__segment_write_set(weir__segment *segment, const weir__liveness *liveness, weir__id task, bool reads,
                             uint64_t lo, uint64_t hi, weir__dependences *dependences);

// Records that `task` commutes on the segment. Cost: one step per user since the last write.
void weir__segment_commute(weir__segment *segment, const weir__liveness *liveness, weir__id task, uint64_t lo,
                           uint64_t hi, weir__dependences *dependences);

// Whether the contents are the task's: it was the last to write them, or one of a set of those.
bool weir__segment_is_by(const weir__segment *segment, weir__id task);

// The newest task that may have written the segment.
weir__id weir__segment_last_writer(const weir__segment *segment);

// Takes a predecessor that was found, as weir__dependences_add does. `user` is the caller's.
typedef void (*weir__dependence_sink)(void *user, weir__id task, weir__hazard hazard, bool data, uint64_t lo,
                                      uint64_t hi);

static inline void weir__list_dependence(void *user, weir__id task, weir__hazard hazard, bool data, uint64_t lo,
                                         uint64_t hi) {
  weir__dependences_add(user, task, hazard, data, lo, hi);
}

// Records that `task` reads the segment, whose bytes in question are [lo, hi). Hands live predecessors to `sink`; poison, and what
// came of sets, is added to `dependences`.
static inline __attribute__((always_inline)) void
weir__segment_read_to(weir__segment *segment, const weir__liveness *liveness, weir__id task, uint64_t lo, uint64_t hi,
                      weir__dependences *dependences, weir__dependence_sink sink, void *user) {
  uint32_t count = segment->reader_count;
  if (__builtin_expect(segment->commutes, false)) {
    weir__segment_read_set(segment, liveness, task, lo, hi, dependences);
    return;
  }
  if (weir__live(liveness, segment->writer) && segment->writer != task)
    sink(user, segment->writer, WEIR__HAZARD_RAW, true, lo, hi);
  if (segment->poisoned) weir__dependences_add_poison(dependences, segment->poisoned, lo, hi);
  if (count > 0 && weir__segment_readers(segment)[count - 1] == task) return;
  if (count == segment->reader_capacity) {
    if (!weir__segment_make_room(segment, liveness, dependences->arrays)) {
      dependences->unrecorded = true;
      return;
    }
    count = segment->reader_count;
  }
  if (segment->reader_capacity > WEIR__SEGMENT_INLINE_READERS)
    segment->readers.many[count] = task;
  else
    segment->readers.few[count] = task;
  segment->reader_count = count + 1;
}

static inline void weir__segment_read(weir__segment *segment, const weir__liveness *liveness, weir__id task,
                                      uint64_t lo, uint64_t hi, weir__dependences *dependences) {
  weir__segment_read_to(segment, liveness, task, lo, hi, dependences, weir__list_dependence, dependences);
}

// Records that `task` writes, and if `reads` also reads, the segment, as above. Cost: one step per reader since the last write.
static inline __attribute__((always_inline)) void
weir__segment_write_to(weir__segment *segment, const weir__liveness *liveness, weir__id task, bool reads, uint64_t lo,
                       uint64_t hi, weir__dependences *dependences, weir__dependence_sink sink, void *user) {
  if (__builtin_expect(segment->commutes, false)) {
    weir__segment_write_set(segment, liveness, task, reads, lo, hi, dependences);
    return;
  }
  const weir__id *readers = weir__segment_readers(segment);
  bool reader_in_flight = false;
  for (uint32_t i = 0; i < segment->reader_count; i++) {
    if (!weir__live(liveness, readers[i]) || readers[i] == task) continue;
    sink(user, readers[i], WEIR__HAZARD_WAR, false, lo, hi);
    reader_in_flight = true;
  }
  // A live reader is behind the writer already; only data still has to come from the writer itself.
  if ((reads || !reader_in_flight) && weir__live(liveness, segment->writer) && segment->writer != task)
    sink(user, segment->writer, reads ? WEIR__HAZARD_RAW : WEIR__HAZARD_WAW, reads, lo, hi);
  if (reads && segment->poisoned) weir__dependences_add_poison(dependences, segment->poisoned, lo, hi);
  segment->writer = task;
  segment->reader_count = 0;
  segment->poisoned = 0;
}

static inline void weir__segment_write(weir__segment *segment, const weir__liveness *liveness, weir__id task,
                                       bool reads, uint64_t lo, uint64_t hi, weir__dependences *dependences) {
  weir__segment_write_to(segment, liveness, task, reads, lo, hi, dependences, weir__list_dependence, dependences);
}

#endif // WEIR_WINDOW_SEGMENT_H
