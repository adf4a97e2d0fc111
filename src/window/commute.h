// SPDX-License-Identifier: Apache-2.0
//
// Tasks that commute: one at a time on the same bytes, in the order in which they become ready.
//
// The hazard index orders such tasks with all others, but not among themselves (window/segment.h). A task ENTERS when its last
// blocker is gone: it is put behind the tasks that have entered before it and are not done, as far as they commute on some
// of its bytes, by edges that are as good as others. It enters on all its buffers at once, and comes after earlier
// ones only, so that there is no circle. It LEAVES when it is done.
//
// A task that failed leaves contents that are not to be updated: those behind it are skipped, by their edges. Tasks that
// have not entered yet are marked when the failed one leaves, as far as no task between them overwrites the bytes.
//
// Guarded by the lock of the window.
#ifndef WEIR_WINDOW_COMMUTE_H
#define WEIR_WINDOW_COMMUTE_H

#include "window/buffer.h"
#include "window/window.h"

// weir__task.commutes
enum {
  WEIR__COMMUTES_NOT,
  WEIR__COMMUTES_OUTSIDE, // odd: something is to be done when the last blocker is gone
  WEIR__COMMUTES_ENTERED,
  WEIR__STAYS_OPEN, // odd, too: it commutes with none, and is not issued before its end (engine/open.h)
};

// A task that has entered on a range of a buffer.
typedef struct weir__commuter {
  weir__id task;
  uint64_t lo, hi;
  uint32_t serial; // of the buffer's contents
} weir__commuter;

// Of one buffer.
typedef struct weir__commuters {
  uint32_t expected; // accesses of tasks that have not left
  uint32_t count, capacity;
  // The last task that failed marked all that have an id below `end` and commute on these bytes.
  struct {
    uint64_t lo, hi;
    weir__id end;
    uint32_t serial;
  } marked;
  // Those that have entered, but for tasks behind which another one has entered on all of their bytes.
  weir__commuter list[];
} weir__commuters;

// Sets memory aside for a task with these accesses, before it is admitted. False: there is none.
bool weir__commute_reserve(const weir__access *accesses, uint32_t count);

// The task is admitted: marks it as one that commutes. It holds one more blocker, for weir__window_release.
void weir__commute_expect(weir__task *task);

// The last blocker of the task is gone. True: it can be issued; or else it got more. `run_ahead`: its device keeps the order of tasks
// that it has. `*out_no_memory`: an edge could not be stored; the task has not entered, and tries again when it is ready again.
bool weir__commute_enter(weir__window *window, weir__task *task, bool run_ahead, bool *out_no_memory);

// The task is done: before weir__window_complete.
void weir__commute_leave(weir__window *window, weir__task *task, bool failed);

#endif // WEIR_WINDOW_COMMUTE_H
