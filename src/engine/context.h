// SPDX-License-Identifier: Apache-2.0
//
// A context from inside: its state, its lock, and what devices report to.
#ifndef WEIR_ENGINE_CONTEXT_H
#define WEIR_ENGINE_CONTEXT_H

#include <stdatomic.h>

#include "engine/event.h"
#include "memory/pool.h"
#include "weir/graph.h"
#include "weir/pipeline.h"
#include "window/buffer.h"
#include "window/object.h"

// A thread that waits until live.oldest has reached `target`.
typedef struct weir__waiter {
  struct weir__waiter *next;
  weir__id target;
  _Atomic uint32_t word; // 0 spins, 1 reached, 2 sleeps
} weir__waiter;

// Of an object of a layer above that must come to its end before the context does, since it submits by itself.
typedef struct weir__closer {
  struct weir__closer *next;
  void (*close)(struct weir__closer *closer); // called without the lock, once it is out of the list
} weir__closer;

// Memory, by space.
typedef struct weir__spaces {
  weir__pool pools[WEIR__MAX_SPACES];
  weir_device *devices[WEIR__MAX_SPACES];
  uint32_t space_count; // 1: all devices work in the host's memory
  void (*reclaim)(
      weir_context *context);   // gives back what graphs that are idle hold on the host; NULL: there were none
  _Atomic uint32_t returns;     // of storage by releases, while somebody waits for that
  uint32_t waiting_for_returns; // submissions
  const void *short_thread;     // whose submission waited for storage last: its weir__this_thread
  weir__id awaited_in_vain;     // the oldest task, which did not end while storage was waited for; 0: none
  uint32_t versions;            // of one buffer that may be in flight besides its newest (engine/rename.h)
  weir__validity_pool validities;
  struct weir__predictor *predictor; // NULL: all devices work in the host's memory, or tasks do not become graphs
} weir__spaces;

// What admission looks up and notes, one task at a time.
typedef struct weir__order {
  weir__dependences dependences;
  weir__range_pool ranges;
  weir__block **fresh; // WEIR_MAX_ARGS
  weir_box *boxes;     // WEIR_MAX_ARGS: of the accesses that were checked last, in plain form; see weir__access.box
  weir__id fence;      // tasks that are submitted from now on come after this one; 0: none
  weir__id last;       // task that was admitted, not aside
  uint64_t aside;      // tasks that were admitted aside
  weir__id hold;       // tasks are not let in before every task below it is done
  weir__id barrier;    // the same, or, while submissions are queued, UINT64_MAX: others wait for these
} weir__order;

// A task that waits for all earlier ones, since there was no memory for its edges.
typedef struct weir__stalled {
  weir__task *commuting;  // those that wait until a task is done, to be put behind others (engine/commute.h)
  weir__task *task;       // NULL: none
  bool listed;            // who may bring it data is all in order.dependences, which stays as it is until then
  uint64_t failed_before; // statistics.failed when it was stalled
} weir__stalled;

struct weir__submission;
struct weir__reduction;

// Reductions whose copies are still to be combined (engine/reduce.h).
typedef struct weir__reductions {
  struct weir__reduction *first;
  uint32_t count;
  uint64_t bytes;       // of all copies
  weir__id none_before; // memory was short: no copies before this task
  bool combining;       // by combine_all
  // Below, since this is above: set with the first reduction.
  void (*forget)(weir_context *context,
                 weir_buffer *buffer); // the buffer is released, and nobody will see its contents
  // Submits, for `by`, what combines them, all or those of `kernel`. False: something was refused, `*out_status` says why, or the
  // lock was released meanwhile, and it is OK.
  bool (*combine_all)(weir_context *context, const struct weir__submission *by, const weir_kernel *kernel,
                      weir_status *out_status);
} weir__reductions;

// What is known of the devices together.
typedef struct weir__device_set {
  uint32_t listed_count;             // of the host's devices: those that the caller asked for
  weir_device *cpu;                  // NULL: none
  weir_device *copier;               // runs host tasks that copy; the CPU, or a device of the context's own
  weir_device *checker;              // gets all tasks, in check mode (check/checker.h); NULL: there is none
  uint64_t checked_on_card;          // bit i: the checker leaves contents of tasks for device i in its memory
  uint64_t kept_slots;               // of the window, for tasks of the checker's own
  char (*labels)[WEIR__LABEL_BYTES]; // of tasks that have one, by slot of the window; NULL: none had one yet
  bool polled;                       // some device has no threads of its own
  bool polls;                        // some device has a `poll` function
  bool flushes;                      // some device has a `flush` function
  uint8_t plain;                     // which tasks may go a short way: weir__plain (engine/plain.h)
} weir__device_set;

// Submissions of tasks and callbacks that wait for room (engine/queue.h).
typedef struct weir__queue {
  struct weir__queued *first, *last;
  uint64_t came, left; // so far
  uint64_t bytes;
  weir__waiter *waiters; // threads until `left` is their target
  uint64_t withheld;     // free slots of the window that threads wait for whose turn it is
  bool draining;         // a thread lets some enter
  bool blocked;          // the first one could not enter, although there is room, and waits for what follows to change:
  weir__id blocked_oldest;
  uint32_t blocked_returns;
} weir__queue;

// Graphs in flight, and what they were built for.
typedef struct weir__graph_notes {
  uint32_t in_flight;
  bool forgot_readers;   // memory was too short to note who reads which output of a graph
  uint64_t code_changes; // of all kernels; numbers them
} weir__graph_notes;

// Work outside Weir that tasks may come after (engine/external.h).
typedef struct weir__externals {
  struct weir__external *first;
  struct weir__awaiting *free, *arrays;
  uint32_t free_count;
} weir__externals;

// Submissions that came before (repeats/repeats.h).
typedef struct weir__repeating {
  struct weir__repeats *repeats; // NULL: the context has no trace cache
  // Submits what is held back. Without `waits`, as much of it as need not wait: for room, for memory, or for another thread
  // that submits it already. False: some is held back still.
  bool (*settle)(weir_context *context, bool waits);
  bool held;      // some tasks are held back, or the cache is asleep: calls are told to it
  bool cut;       // something else than a submission was called since the last one
  bool cancelled; // what is held back is skipped once it is submitted, for which a thread waits
  uint8_t plain;  // which tasks that are not held back may go a short way: weir__plain
} weir__repeating;

struct weir_context {
  weir__host host;                                        // what devices see; the first member
  const struct weir__task_rules *rules[WEIR__TASK_KINDS]; // read by threads of devices at each task
  alignas(64) weir__order order;                          // not beside what those read: each submission writes it
  weir__repeating repeating;
  weir__spaces memory;
  weir__stalled stalled;
  weir__queue queue;
  struct {
    weir_event *first, *last; // of tasks that others submitted and that are not done, in the order of submission
  } children;
  struct {
    struct weir_open_task *first; // that were begun and not ended (engine/open.h)
  } opens;
  weir__reductions reductions;
  weir__device_set devices;
  weir__graph_notes graphs;
  struct weir__failures *failures; // engine/failures.h; NULL: no task has failed yet, or memory was short
  bool commuted;                   // some task commutes, or did: launches keep what they overwrote (window/commute.h)
  bool poisoned;                   // some bytes were: from then on each task asks for them, and none goes a short way
  uint64_t checks;                 // of arguments; numbers them
  struct {
    weir__task *first, *last;
  } ready; // for run-ahead devices
  struct {
    weir__waiter *first;
    weir__id wake_at; // smallest target
  } waiting;
  weir__callbacks callbacks;
  struct {
    weir__object_pool buffers, kernels, events, graphs, chains, groups, prepared;
    uint64_t next_buffer;
  } objects;
  struct {
    weir_status status; // WEIR_OK: none, or it was reported
    weir__id task;
    char text[WEIR__MESSAGE_BYTES];
  } failure; // the first one
  weir__closer *closers;
  weir__externals externals; // that have not ended
  struct weir__placement
      *placement;                // of tasks that name no device (engine/place.h); NULL: the caller does not want that
  struct weir__profile *profile; // NULL: the caller does not want to know (engine/profile.h)
  weir_context *next_of_process; // engine/process.h
};

// The context that a device's host is part of.
static inline weir_context *weir__context_of(weir__host *host) {
  return (weir_context *)(void *)host;
}

// A space, as timelines name it (weir__trace_access.memory).
static inline uint32_t weir__trace_memory(const weir_context *context, uint32_t space) {
  return space == WEIR__HOST_SPACE ? 0 : context->memory.devices[space]->index + 1;
}

// Something came up that makes submissions unusual (engine/plain_whole.h). The lock is held.
static inline void weir__context_is_unusual(weir_context *context) {
  context->host.window.usual_until = 0;
}

// Some bytes are poisoned, or about to be. The lock is held.
static inline void weir__context_poisons(weir_context *context) {
  context->poisoned = true;
  weir__context_is_unusual(context);
}

// As weir__repeating.settle says, if anything is held back.
static inline bool weir__context_lock_settled(weir_context *context, bool waits) {
  weir__host_lock(&context->host);
  context->repeating.cut = true;
  return __builtin_expect(!context->repeating.held, true) || context->repeating.settle(context, waits);
}

// At the beginning of a call of the caller's. What was submitted before it is submitted indeed then.
static inline void weir__context_lock(weir_context *context) {
  weir__context_lock_settled(context, true);
}

// The same for calls that do not wait for room, nor for a thread that does: a program may make it behind them.
static inline void weir__context_lock_at_once(weir_context *context) {
  weir__context_lock_settled(context, false);
}

// The same for calls that wait until the deadline (0: for ever) at most. False: some of what was submitted before is held back still.
static inline bool weir__context_lock_until(weir_context *context, uint64_t deadline_ns) {
  return weir__context_lock_settled(context, deadline_ns == 0);
}

// For a submission, and for calls that do not matter to the order of tasks.
static inline void weir__context_lock_to_submit(weir_context *context) {
  weir__host_lock(&context->host);
}

// After the lock was released in the middle of a call.
static inline void weir__context_lock_again(weir_context *context) {
  weir__host_lock(&context->host);
}

static inline void weir__context_unlock(weir_context *context) {
  weir__host_unlock(&context->host);
}

// Waits until every task with an id below `target` is done. The lock is held before and after, not meanwhile. False:
// `timeout_ns` is over.
bool weir__context_wait(weir_context *context, weir__id target, uint64_t timeout_ns);

// Waits until the waiter, which somebody will reach, is reached. As above. False: not until the deadline (0: none).
bool weir__context_wait_on(weir_context *context, weir__waiter *waiter, uint64_t deadline_ns);

// Notes a failure for weir_finish, or for who else is to learn of it; `event` is the task's, or NULL. The lock is held.
void weir__context_note_failure(weir_context *context, const weir_event *event, weir__id task, weir_status status,
                                const char *text);

// Notes a failure for weir_finish. The lock is held.
void weir__context_note_text(weir_context *context, weir__id task, weir_status status, const char *text);

// The time `timeout_ns` from now; 0: never. And the time-out that such a deadline leaves.
uint64_t weir__deadline_after(uint64_t timeout_ns);
uint64_t weir__left_until(uint64_t deadline_ns);

// Hands tasks that became ready to run-ahead devices. Called with the lock held by whoever submits or completes.
void weir__context_issue_ready(weir_context *context);

// Poisons what a task should have written. The lock is held.
void weir__poison_outputs(weir_context *context, weir__task *task);

// Keeps the label of a task that is being submitted, for texts. The lock is held.
void weir__context_keep_label(weir_context *context, weir__task *task, const char *label);

// "task 7 'kernel' (tag 3) on cuda:0", or "task 7 'label' (kernel, tag 3) on cuda:0". Returns the text's length. The lock
// is held.
uint32_t weir__context_describe(const weir_context *context, const weir__task *task, char text[WEIR__MESSAGE_BYTES]);

// Lets devices start what they hold back, because somebody waits. The lock is held.
void weir__context_flush(weir_context *context);

// Lets devices without threads report what is done by now. The lock is held.
void weir__context_poll(weir_context *context);

// What the device's kind made of the kernel's code; NULL: a function is all there is.
static inline const void *weir__kernel_code(const weir_kernel *kernel, const weir_device *device) {
  return kernel->code[device->ops->code];
}

// The kernel's enqueue function for the device's kind; NULL: it has none (device/enqueue.h).
static inline const struct weir__enqueue *weir__kernel_enqueue(const weir_kernel *kernel, const weir_device *device) {
  const weir__code *code = kernel != NULL ? kernel->code[device->ops->code] : NULL;
  return code != NULL ? code->enqueue : NULL;
}

// Takes the context's lock for a call that changes a kernel: what is held back is submitted first, unless the kernel was in no task
// so far, and so is in none of those.
void weir__kernel_lock(const weir_kernel *kernel);

// Chooses the device of a kernel whose code has changed, and notes the change for graphs. The lock is held.
void weir__kernel_choose_device(weir_kernel *kernel);

// A queued submission that named the kernel has entered, or failed. The lock is held.
void weir__kernel_unqueue(weir_kernel *kernel);

// Frees what a kernel holds besides its struct.
void weir__kernel_destroy(weir__object *object);
void weir__graph_destroy(weir__object *object);

#endif // WEIR_ENGINE_CONTEXT_H
