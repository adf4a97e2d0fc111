// SPDX-License-Identifier: Apache-2.0
//
// Who used which bytes of a buffer, whether it is done or not, for ThreadSanitizer (base/tsan.h). The hazard index forgets tasks
// that are done; their order with later tasks is promised none the less.
//
// A buffer's contents are cut into stretches of bytes with the same users. Users come in sets: one that wrote, some that
// read since, some that commute. Contents that are overwritten in other storage start without users, as in the index. The storage
// has users of its own, across all buffers that have it in turn, so that memory that is used again is not taken for shared.
#ifndef WEIR_WINDOW_TRAIL_H
#define WEIR_WINDOW_TRAIL_H

#include "base/tsan.h"
#include "window/buffer.h"
#include "window/task.h"

// A list of points, each once. The list has a reference of each.
typedef struct weir__syncs {
  weir__sync **list;
  uint32_t count, capacity;
} weir__syncs;

// A task in ThreadSanitizer's eyes.
typedef struct weir__watched {
  weir__sync *own;      // NULL: none
  weir__syncs acquired; // whose ends it comes after
  weir__syncs released; // besides its own, which ends when the task is completed
  uint64_t number;      // of this record's use
  weir__point values;   // of the slot's values: released at the end of a task that has some
  bool has_values;
  bool repeats; // check mode calls its function several times, one after the other
} weir__watched;

void weir__watched_acquire(weir__watched *task, weir__sync *sync);
void weir__watched_release(weir__watched *task, weir__sync *sync);

// Gives all back. The next task can have the record.
void weir__watched_clear(weir__watched *task);
void weir__watched_deinitialize(weir__watched *task);

// The task uses bytes of a buffer, whose storage is known. `all`: the end of all tasks.
void weir__trail_note(weir__watched *task, const weir__access *access, weir__sync *all);

void weir__trail_destroy(struct weir__trail *trail);

#endif // WEIR_WINDOW_TRAIL_H
