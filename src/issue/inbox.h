// SPDX-License-Identifier: Apache-2.0
//
// Tasks on their way to a device's thread, and how that thread sleeps.
//
// Tasks are pushed by who holds the context's lock, and taken by the thread. A thread that finds nothing to do announces that it
// sleeps, then looks once more, then sleeps; who gives it something to do writes that first, and wakes it if it has announced.
// So that neither misses what the other wrote, there is a memory barrier between the two steps of both: the thread's is
// heavy, and the other's, which comes with each task, is light (weir__barrier_heavy).
#ifndef WEIR_ISSUE_INBOX_H
#define WEIR_ISSUE_INBOX_H

#include <stdalign.h>

#include "base/lock.h"
#include "window/task.h"

typedef struct weir__inbox {
  weir__task **ring; // as many as the window has slots
  uint32_t mask;     // kept here, since who submits writes beside the window's own at each task
  alignas(64) _Atomic uint64_t pushed;
  // What the thread looks at in each round, and others seldom write.
  alignas(64) _Atomic uint32_t sleeping; // 1: the thread sleeps, or will, on this word
  _Atomic bool flush;                    // somebody waits for tasks that may be deferred
  _Atomic bool stopping;
  alignas(64) uint64_t taken; // of the thread alone
} weir__inbox;

// For a window of this many slots. False: no memory.
bool weir__inbox_initialize(weir__inbox *inbox, uint32_t window);
void weir__inbox_deinitialize(weir__inbox *inbox);

// Any thread: wakes the thread if it sleeps. `weir__inbox_wake`: after something was written that the thread looks at before
// it sleeps. `weir__inbox_ring`: the same for threads that may have written it long before, as those of a driver.
// `weir__inbox_prewake`: there will soon be something.
void weir__inbox_ring(weir__inbox *inbox);

static inline void weir__inbox_prewake(weir__inbox *inbox) {
  if (atomic_load_explicit(&inbox->sleeping, memory_order_relaxed) != 0) weir__inbox_ring(inbox);
}

static inline void weir__inbox_wake(weir__inbox *inbox) {
  weir__barrier_light();
  weir__inbox_prewake(inbox);
}

// The context's lock is held, and the task is in the window.
static inline void weir__inbox_push(weir__inbox *inbox, weir__task *task) {
  uint64_t at = atomic_load_explicit(&inbox->pushed, memory_order_relaxed);
  inbox->ring[at & inbox->mask] = task;
  atomic_store_explicit(&inbox->pushed, at + 1, memory_order_release);
  weir__inbox_wake(inbox);
}

// Any thread: what is deferred must go now. It does not wake the thread, which does not sleep while it defers tasks.
static inline void weir__inbox_flush(weir__inbox *inbox) {
  if (atomic_load_explicit(&inbox->flush, memory_order_relaxed)) return;
  atomic_store_explicit(&inbox->flush, true, memory_order_release);
}

// Lets the thread know that it must end.
void weir__inbox_stop(weir__inbox *inbox);

// ---------------------------------------------------------------------------------------------------------------
// By the thread alone.

// How many tasks there are to take.
static inline uint64_t weir__inbox_count(const weir__inbox *inbox) {
  return atomic_load_explicit(&inbox->pushed, memory_order_acquire) - inbox->taken;
}

// One of them, without taking it: 0 is the next one.
static inline weir__task *weir__inbox_peek(const weir__inbox *inbox, uint64_t index) {
  return inbox->ring[(inbox->taken + index) & inbox->mask];
}

static inline weir__task *weir__inbox_take(weir__inbox *inbox) {
  return inbox->ring[inbox->taken++ & inbox->mask];
}

// Whether a flush was asked for since the last call.
static inline bool weir__inbox_take_flush(weir__inbox *inbox) {
  return atomic_load_explicit(&inbox->flush,
                              memory_order_relaxed) && // for what is written here is taken from who flushes
         atomic_exchange_explicit(&inbox->flush, false, memory_order_acquire);
}

static inline bool weir__inbox_is_stopping(const weir__inbox *inbox) {
  return atomic_load_explicit(&inbox->stopping, memory_order_acquire);
}

// Announces that the thread sleeps. Then the thread looks once more for what it sleeps for, and calls one of the two below.
// `sure`: who pushes or wakes is not missed, unless false is returned; else it may be, and the sleep must be short.
bool weir__inbox_announce_sleep(weir__inbox *inbox, bool sure);
// Sleeps for `ns` at most, if there is no task to take and the thread need not stop. Returns whether it slept.
bool weir__inbox_sleep(weir__inbox *inbox, uint64_t ns);
// There is something to do.
void weir__inbox_stay_awake(weir__inbox *inbox);

#endif // WEIR_ISSUE_INBOX_H
