// SPDX-License-Identifier: Apache-2.0
//
// Queue choice for devices that run ahead with in-order queues: which queue a task goes to, and which of its
// predecessors it must wait for by an event because the queues' order does not imply them.
//
// Pure logic: knows no device, costs nothing but memory. A task follows a predecessor that is still the last in its
// queue; otherwise it goes to an idle queue; otherwise to the one with the fewest tasks. Every queue has a vector clock:
// what all that is issued to it from now on comes after. Predecessors that the clock of the chosen queue or another
// predecessor covers need no wait, so that no wait is redundant.
//
// An event stands for a point in a queue and can only be recorded when that point is reached in issuing: an event is
// asked for when a task is waited for, and at the latest when its queue is about to move on. (Asked for later, it
// would stand for the tasks behind it as well, and forks would lose their overlap.) With one queue there are none.
#ifndef WEIR_ISSUE_QUEUES_H
#define WEIR_ISSUE_QUEUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weir__queues weir__queues;

// A task that was issued and is not known to be done.
typedef struct weir__queue_task {
  struct weir__queue_task *next_free, *next_allocated;
  uint32_t queue;
  bool recorded;     // an event stands for its end
  bool stalls;       // weir__queues_stall
  void *user;        // the caller's
  uint64_t sequence; // in its queue: 1, 2, ...
  uint64_t clock[];  // per queue: the last sequence that is done when this task is
} weir__queue_task;

typedef struct weir__queue_choice {
  weir__queue_task *task; // NULL: no memory
  uint32_t queue;
  uint32_t wait_count;      // of `waits`: predecessors that the queue must wait for
  uint32_t record_count;    // of `records`: tasks behind which an event must be recorded first
  weir__queue_task **waits; // both are the callee's and valid until the next call
  weir__queue_task **records;
} weir__queue_choice;

// Creates the state of `count` queues, at least 1, of which the last `special` are only used by tasks that ask for them.
// NULL: no memory.
weir__queues *weir__queues_create(uint32_t count, uint32_t special);

// The same with room for more queues, which come later, behind the others, and are special as well.
weir__queues *weir__queues_create_wide(uint32_t count, uint32_t special, uint32_t most);
void weir__queues_widen(weir__queues *queues);   // now they come
void weir__queues_destroy(weir__queues *queues); // NULL is allowed; frees its tasks

// Places a task behind its predecessors, which are not done yet and may come several times: in queue `wanted`, or with
// WEIR__ANY_QUEUE where it is best. When there is no memory nothing changes and `task` is NULL.
#define WEIR__ANY_QUEUE UINT32_MAX
weir__queue_choice weir__queues_issue(weir__queues *queues, weir__queue_task *const *predecessors, uint32_t count,
                                      uint32_t wanted);

// The task, which was placed last in its queue, waits for something else: until it is done no other task is placed
// behind it, whatever queue that wants, except one that comes after it.
void weir__queues_stall(weir__queues *queues, weir__queue_task *task);

// The queue with the fewest tasks, of those from `first` up to `end` that no task stalls; WEIR__ANY_QUEUE: all are
// stalled.
uint32_t weir__queues_quietest(const weir__queues *queues, uint32_t first, uint32_t end);

// The task is done and everything that it came after; it is freed.
void weir__queues_done(weir__queues *queues, weir__queue_task *task);

#endif // WEIR_ISSUE_QUEUES_H
