// SPDX-License-Identifier: Apache-2.0
//
// The window: a bounded set of tasks in flight and the edges between them. It knows no device, does no I/O and starts no
// thread. Everything is guarded by the lock of whoever owns it.
#ifndef WEIR_WINDOW_WINDOW_H
#define WEIR_WINDOW_WINDOW_H

#include "window/segment.h"
#include "window/task.h"

typedef struct weir__window {
  weir__task *tasks; // `size` slots
  uint32_t size;     // a power of two
  weir__liveness live;
  weir__id next;  // id of the next task
  uint64_t edges; // added so far
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

static inline bool weir__window_full(const weir__window *window) {
  return window->next - window->live.oldest >= window->size;
}

static inline bool weir__window_empty(const weir__window *window) {
  return window->next == window->live.oldest;
}

static inline weir__task *weir__window_task(const weir__window *window, weir__id id) {
  return &window->tasks[id & window->live.mask];
}

// The slot of the next task, made ready to be filled in: its id is window->next and it holds one blocker, so that it
// does not start before weir__window_commit. The window must not be full.
weir__task *weir__window_begin(weir__window *window);

// Room for the arguments of the task that is being submitted: `bytes` bytes aligned to 16, or NULL.
void *weir__window_payload(weir__task *task, size_t bytes);

// Makes `task`, which is being submitted, a successor of `predecessor`, which is live. Doing it twice adds no second
// edge; `data` of either counts. Returns true if this is the first edge between the two. `*out_no_memory` is set if
// the edge could not be stored.
bool weir__window_connect(weir__window *window, weir__id predecessor, weir__task *task, bool data, bool blocks,
                          bool *out_no_memory);

// The task is submitted: it starts when its blockers are gone, perhaps now. The slot belongs to the window.
void weir__window_commit(weir__window *window, weir__task *task);

// Takes one blocker off a task that was committed.
void weir__window_release(weir__window *window, weir__task *task);

// Resolves edges of a task that was issued to a run-ahead device, for its successors on the same device.
void weir__window_issued(weir__window *window, weir__task *task);

// The task is done: resolves its edges and retires what can be retired. `failed`: successors by data are skipped.
void weir__window_complete(weir__window *window, weir__task *task, bool failed);

#endif // WEIR_WINDOW_WINDOW_H
