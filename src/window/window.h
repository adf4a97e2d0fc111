// SPDX-License-Identifier: Apache-2.0
//
// The window: a bounded set of tasks in flight and the edges between them. It knows no device, does no I/O and starts no
// thread. Everything is guarded by the lock of whoever owns it.
#ifndef WEIR_WINDOW_WINDOW_H
#define WEIR_WINDOW_WINDOW_H

#include "base/fetch.h"
#include "window/segment.h"
#include "window/task.h"

typedef struct weir__window {
  weir__task *tasks; // `size` slots
  uint32_t size;     // a power of two
  weir__liveness live;
  weir__id next;        // id of the next task
  weir__id usual_until; // tasks below find a slot, and nothing unusual (engine/plain_whole.h); 0: not known
  uint64_t kept;        // slots for WEIR__ANY_SLOT alone; the rest is what others take for the window
  uint64_t reserved;    // slots that are set aside for submissions still to come
  bool closed;          // only these get in; some slots are reserved then
  bool claimed;         // the next slot that comes free and is not reserved is for who has WEIR__CLAIMED_SLOT
  uint64_t edges;       // added so far
  uint32_t touched;     // slots that were made ready before any task
  weir__edge_chunk *free_chunks;
  struct weir__edge_slab *slabs;
  // Called when a task has no blocking edge left. Must not call back into the window.
  void (*ready)(void *user, weir__task *task);
  // Called when a predecessor whose data `task` reads has failed; task->reads_poison is set. May be NULL.
  void (*upstream_failed)(void *user, weir__task *task, weir__id predecessor);
  void *user;
} weir__window;

// Creates a window of `size` slots, a power of two. False: no memory.
bool weir__window_initialize(weir__window *window, uint32_t size, void (*ready)(void *user, weir__task *task),
                             void *user);
void weir__window_deinitialize(weir__window *window);

// Makes the slots of the first `count` tasks of a device that runs ahead ready, so that the system need not find memory for
// them later. Before any task.
void weir__window_touch(weir__window *window, uint32_t count);

// In what follows, `own` is the number of reserved slots that belong to the submission that asks, or WEIR__ANY_SLOT.
#define WEIR__ANY_SLOT UINT64_MAX
// Or this: none is reserved for it, but it has waited for long, and `claimed` keeps out all others that have none.
#define WEIR__CLAIMED_SLOT (UINT64_MAX - 1)

// The size for all but who may have any slot.
static inline uint32_t weir__window_size(const weir__window *window) {
  return window->size - (uint32_t)window->kept;
}

// Slots that are reserved for others.
static inline uint64_t weir__window_kept(const weir__window *window, uint64_t own) {
  if (own == WEIR__CLAIMED_SLOT) return window->reserved;
  return window->reserved > own ? window->reserved - own : 0;
}

// Whether others keep the submission out for a while.
static inline bool weir__window_shut(const weir__window *window, uint64_t own) {
  return window->closed ? own == 0 || own == WEIR__CLAIMED_SLOT : window->claimed && own == 0;
}

// Free slots that are not reserved for others.
static inline uint64_t weir__window_room(const weir__window *window, uint64_t own) {
  uint64_t room = window->size - (window->next - window->live.oldest);
  if (own == WEIR__ANY_SLOT) return room;
  // Tasks for WEIR__ANY_SLOT take none of those that are reserved, however many there are.
  bool has_own = own != 0 && own != WEIR__CLAIMED_SLOT;
  if (!has_own) room = room > window->kept ? room - window->kept : 0;
  if (weir__window_shut(window, own)) return 0;
  uint64_t kept = weir__window_kept(window, own);
  return room > kept ? room - kept : 0;
}

static inline bool weir__window_full(const weir__window *window, uint64_t own) {
  return weir__window_room(window, own) == 0;
}

// Whether a submission for which no slot was reserved would find one: as weir__window_full says, where none is left over.
static inline bool weir__window_has_room(const weir__window *window) {
  return window->next - window->live.oldest + window->kept + window->reserved < window->size &&
         !(window->closed | window->claimed);
}

static inline bool weir__window_empty(const weir__window *window) {
  return window->next == window->live.oldest;
}

static inline weir__task *weir__window_task(const weir__window *window, weir__id id) {
  return &window->tasks[id & window->live.mask];
}

// The slot of the next task, made ready to be filled in: its id is window->next and it holds one blocker, so that it
// does not start before weir__window_commit. The window must not be full. Not for a run-ahead device.
static inline weir__task *weir__window_begin_alone(weir__window *window) {
  weir__task *task = weir__window_task(window, window->next);
  window->live.done[window->next & window->live.mask] = 0;
  task->id = window->next;
  task->mark = 0;
  task->blockers = 1;
  task->successor_count = 0;
  task->more_successors = NULL;
  task->ancestors = 0;
  task->commutes = 0;
  task->issued = task->failing = task->labelled = task->awaits = task->usual = false;
  atomic_store_explicit(&task->dropped, false, memory_order_relaxed);
  atomic_store_explicit(&task->reads_poison, false, memory_order_relaxed);
  return task;
}

// The same for a task of any device.
static inline weir__task *weir__window_begin(weir__window *window) {
  weir__task *task = weir__window_begin_alone(window);
  task->predecessor_count = 0;
  if (task->predecessors == NULL) {
    task->predecessors = task->few_predecessors;
    task->predecessor_capacity = WEIR__TASK_INLINE_PREDECESSORS;
  }
  return task;
}

// The same for more than the slot holds inline. What such room held before stays, in its first bytes.
void *weir__window_large_payload(weir__task *task, size_t bytes);

// Asks for the slot of the task after next to be brought here, to be written: a device's thread had it last, on another core.
static inline void weir__window_fetch_ahead(const weir__window *window) {
  const char *slot = (const char *)weir__window_task(window, window->next + 1);
  for (size_t line = 0; line < sizeof(weir__task); line += 64) weir__fetch_to_write(slot + line);
}

// Room for the arguments of the task that is being submitted: `bytes` bytes aligned to 16, or NULL.
static inline void *weir__window_payload(weir__task *task, size_t bytes) {
  return bytes <= WEIR__TASK_INLINE_PAYLOAD ? task->payload : weir__window_large_payload(task, bytes);
}

// The rare cases of weir__window_connect: adds an edge when the inline ones are in use; and finds the newest edge.
bool weir__window_push_edge(weir__window *window, weir__task *task, uint32_t edge);
uint32_t *weir__window_newest_edge(weir__task *task);

// What comes first for certain where a task of `ancestors`, so many before, does: as weir__task.ancestors.
static inline uint64_t weir__ancestors_behind(uint64_t ancestors, uint64_t distance) {
  if (distance > 64) return 0;
  return (uint64_t)1 << (distance - 1) | (distance == 64 ? 0 : ancestors << distance);
}

// The task `id`, and what comes before it for certain, as the ancestors of task `before`, which is in flight or the next one.
static inline uint64_t weir__window_and_ancestors(const weir__window *window, weir__id id, weir__id before) {
  return weir__ancestors_behind(weir__window_task(window, id)->ancestors, before - id);
}

// Makes `task`, which is being submitted, a successor of `predecessor`, which is live. Doing it twice adds no second
// edge; `data` of either counts. Returns true if this is the first edge between the two. `*out_no_memory` is set if
// the edge could not be stored.
static inline bool weir__window_connect(weir__window *window, weir__id predecessor, weir__task *task, bool data,
                                        bool blocks, bool *out_no_memory) {
  weir__task *before = weir__window_task(window, predecessor);
  if (before->mark == task->id) {
    if (data) *weir__window_newest_edge(before) |= WEIR__EDGE_DATA;
    return false;
  }
  uint32_t slot = (uint32_t)(task->id & window->live.mask);
  uint32_t edge = slot << WEIR__EDGE_BITS | (data ? WEIR__EDGE_DATA : 0) | (blocks ? WEIR__EDGE_BLOCKS : 0);
  if (before->successor_count < WEIR__TASK_INLINE_SUCCESSORS) {
    before->successors[before->successor_count++] = edge;
  } else if (!weir__window_push_edge(window, before, edge)) {
    *out_no_memory = true;
    return false;
  }
  before->mark = task->id;
  task->ancestors |= weir__ancestors_behind(before->ancestors, task->id - predecessor);
  task->blockers += blocks;
  window->edges++;
  return true;
}

// Makes a task that was submitted before a successor by data of one that is not done. False: no memory.
bool weir__window_connect_late(weir__window *window, weir__task *before, weir__task *task, bool blocks);

// The rare case of weir__window_add_predecessor: makes room. False: no memory.
bool weir__window_more_predecessors(weir__task *task);

// Adds to task->predecessors. False: no memory.
static inline bool weir__window_add_predecessor(weir__task *task, weir__id id) {
  if (task->predecessor_count == task->predecessor_capacity && !weir__window_more_predecessors(task)) return false;
  task->predecessors[task->predecessor_count++] = id;
  return true;
}

// The task is submitted: it starts when its blockers are gone, perhaps now. The slot belongs to the window.
void weir__window_commit(weir__window *window, weir__task *task);

// Takes one blocker off a task that was committed.
void weir__window_release(weir__window *window, weir__task *task);

// Resolves edges of a task that was issued to a run-ahead device, for its successors on the same device.
void weir__window_issued(weir__window *window, weir__task *task);

// Marks a task, which is not done, as one that reads what `predecessor` should have written and did not.
void weir__window_upstream_failed(weir__window *window, weir__task *task, weir__id predecessor);

// The task will not end well, though it is not done yet: successors by data are skipped, also those that are still to come.
void weir__window_mark_failing(weir__window *window, weir__task *task);

// The task is done: resolves its edges and retires what can be retired. `failed`: successors by data are skipped.
void weir__window_complete(weir__window *window, weir__task *task, bool failed);

#endif // WEIR_WINDOW_WINDOW_H
