// SPDX-License-Identifier: Apache-2.0
//
// What a device may know of the context that it belongs to, and what it may ask of it.
//
// The functions are the engine's. A device calls no others of the layers above it. "Held" is the host's lock.
#ifndef WEIR_DEVICE_HOST_H
#define WEIR_DEVICE_HOST_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/thread.h"
#include "device/device.h"
#include "trace/trace.h"
#include "weir/external.h"
#include "window/buffer.h"
#include "window/window.h"

enum { WEIR__MESSAGE_BYTES = 384, WEIR__MOST_WAKES = 8 };

enum {
  WEIR__DUE_CALLBACKS = 1u, // callbacks are to be called
  WEIR__DUE_QUEUE = 2u,     // submissions are queued, and enter the window if it has room for them
};
// Besides WEIR_CONTEXT_* in `flags`: the context has a weir__profile.
#define WEIR__CONTEXT_PROFILES (1u << 31)

// Who is to be told of something once the lock is released.
typedef struct weir__notices {
  uint32_t wake_count;                       // of
  _Atomic uint32_t *wakes[WEIR__MOST_WAKES]; // words whose sleepers are woken
  uint8_t due;                               // what is to be done when the lock is released: WEIR__DUE_*
  bool calling;                              // a thread calls some
} weir__notices;

#define WEIR__HELD_RUN ((uint64_t)1 << 16)

// What CPU workers call when they find no task.
typedef struct weir__progress {
  _Atomic(weir_progress_function) function; // NULL: none
  void *user;                               // stays while there is a function, or one is called
  _Atomic bool called;                      // by a worker, now
} weir__progress;

// The part of a context that its devices see.
typedef struct weir__host {
  weir__lock lock;
  alignas(64) weir__window window; // guarded by the lock, but for what tasks say of themselves
  weir__notices notices;           // guarded by the lock
  // What follows stays as it is while there are tasks, but for the statistics, which the lock guards.
  alignas(64) uint32_t flags; // WEIR_CONTEXT_*
  weir_issue issue;
  uint64_t seed;
  uint64_t start_ns;
  uint64_t memory_limit;     // of the host's, in bytes
  uint64_t device_limit;     // of each device's
  uint64_t rename_limit;     // of each memory, in bytes, for overwritten storage in use; 0: a part of the memory
  weir__trace *trace;        // NULL: nothing is traced; guarded by the lock
  bool crowded;              // CPU workers leave few cores to threads of devices, and other threads should not spin
  uint32_t spare_cores;      // for each device with a thread, beside what workers, those threads and the caller's need
  struct weir__watch *watch; // NULL: ThreadSanitizer does not watch (device/watch.h)
  uint64_t spin_ns;          // how long who waits spins before it sleeps; a device that is created may ask for more
  uint32_t usual_workers;    // of a CPU device whose name does not say how many
  uint32_t device_count;
  uint32_t worker_count; // of threads that may run functions at the same time: the devices' `callers`
  weir_device *devices[WEIR__MAX_DEVICES];
  alignas(64) weir_statistics statistics;
  // Bit k: a worker that is awake has core k (modulo 64). Who waits on its core keeps it from running. Changed with the lock held.
  _Atomic uint64_t worker_cores;
  _Atomic uint32_t worker_core; // that of the last one that was woken, or moved
  // Read by threads of devices at each task, and seldom written: not beside what each submission writes.
  alignas(64) _Atomic uint64_t cancel_before; // tasks with a smaller id that have not started are skipped
  // Submissions that are held back: the number of their run, times WEIR__HELD_RUN, and how many, in steps; 0: none. A thread
  // that has nothing to do calls weir__host_settle if that does not change, or if the run stays the same for long.
  _Atomic uint64_t held;
  _Atomic uint32_t waiters;  // threads that wait for tasks: devices put nothing off then
  _Atomic bool times_tasks;  // when tasks start and end is wanted, though nothing is traced
  _Atomic bool many_buffers; // more than caches hold: submissions fetch theirs before they take the lock
  _Atomic bool foreign;      // it came with a fork, and its threads did not (engine/process.h)
  weir__progress progress;
} weir__host;

// A context begins with its host.
static inline weir__host *weir__host_of(weir_context *context) {
  return (weir__host *)(void *)context;
}

// Whether a thread waits for tasks, as far as this one knows.
static inline bool weir__host_is_awaited(const weir__host *host) {
  return atomic_load_explicit(&host->waiters, memory_order_relaxed) > 0;
}

static inline void weir__host_lock(weir__host *host) {
  weir__lock_acquire(&host->lock);
}

// Takes queued submissions into the window, releases the lock, then calls the callbacks that are due.
void weir__host_unlock_and_call(weir__host *host);

// Whether something is to be done when the lock is released. The lock is held.
static inline bool weir__host_has_notices(const weir__host *host) {
  return (host->notices.due != 0) | (host->notices.wake_count > 0);
}

static inline void weir__host_unlock(weir__host *host) {
  if (weir__host_has_notices(host))
    weir__host_unlock_and_call(host);
  else
    weir__lock_release(&host->lock);
}

// Releases the lock, then wakes who is to be woken. For who takes it again soon; else weir__host_unlock.
void weir__host_unlock_and_wake(weir__host *host);

// Wakes who sleeps on `word` once the lock, which is held, is released: a thread that woke up now, perhaps on this thread's
// core, would wait for the lock first. The word may be gone by then.
void weir__host_wake(weir__host *host, _Atomic uint32_t *word);

// How a task ended.
typedef struct weir__completion {
  weir_status status;
  const char *message; // why it failed; NULL: no more to say
  uint32_t lane;       // worker or queue
  uint64_t ready_ns;   // device time; 0: as noted when its last predecessor was done
  uint64_t start_ns, end_ns;
  bool endless; // its work may go on for ever: what the task uses is neither handed out again nor freed
} weir__completion;

// WEIR_OK, or the status with which a task must be skipped instead of run. With the lock or without.
weir_status weir__host_skip_status(weir__host *host, const weir__task *task);

// The task is done: its successors, event, storage and poison follow. The lock is held. Afterwards, once per batch of
// tasks, weir__host_completed must be called.
void weir__host_complete(weir__host *host, weir__task *task, const weir__completion *completion);
void weir__host_completed(weir__host *host);

// A run-ahead device reports a task that it could not even take down: there is no memory for it, or the device is `lost`, for
// the reason that `lost_text` gives. The lock is not held.
void weir__host_fail_unissued(weir__host *host, weir__task *task, weir_status lost, const char *lost_text);

// Submits what is held back, as far as that need not wait, unless `held` has changed since the caller saw `seen` there. The lock is
// held.
void weir__host_settle(weir__host *host, uint64_t seen);

// Takes a blocker off a task that a device held back from being issued. The lock is held.
void weir__host_release(weir__host *host, weir__task *task);

// Gives a kernel its code of a kind, or frees it: tasks in flight may use what is there, which is an error. `merge` (may be
// NULL) takes over what the new code does not have of the old one's. `what` is for the message: "CUDA code". Takes the lock.
weir_status weir__host_set_code(weir_kernel *kernel, weir__code_kind kind, weir__code *code, const char *what,
                                void (*merge)(weir__code *to, const weir__code *from));

#endif // WEIR_DEVICE_HOST_H
