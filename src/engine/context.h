// SPDX-License-Identifier: Apache-2.0
//
// A context from inside: its state, its lock, and what devices report to.
#ifndef WEIR_ENGINE_CONTEXT_H
#define WEIR_ENGINE_CONTEXT_H

#include <stdatomic.h>

#include "device/host.h"
#include "memory/pool.h"
#include "weir/graph.h"
#include "weir/pipeline.h"
#include "window/buffer.h"
#include "window/object.h"

typedef struct weir__callback {
  struct weir__callback *next;
  weir_event_function function;
  void *user;
} weir__callback;

struct weir__completion;

// A part of Weir that submits tasks of its own, and learns of their ends itself.
typedef struct weir__completion_target {
  weir_event_function done; // called like a callback, before all others; needs no memory. NULL: none
  void *user;
  bool at_once;  // `done` is called when the task is completed, with the lock held
  bool reported; // a failure is for weir_finish, too
  // Asked when the task fails, with the lock held. True: it has been given to another device, and is not done. NULL: never.
  bool (*again)(void *user, weir__task *task, const struct weir__completion *completion);
  weir_event *moves; // of transfers that the task needs: their times are summed in it; NULL: they have no event
} weir__completion_target;

// The part of an event's end that belongs to the layer which submitted its task. The functions are called with the lock held.
typedef struct weir__ending weir__ending;
typedef struct weir__ending_rules {
  // The outcome is known, and the ending delivers: whether it may do so now. If not, its layer calls weir__event_queue later.
  bool (*is_next)(const weir__ending *ending);
  // Delivers, where callbacks are called. The lock is released meanwhile.
  void (*deliver)(weir__ending *ending);
  // The event gets its status.
  void (*end)(weir__ending *ending);
} weir__ending_rules;

struct weir__ending {
  const weir__ending_rules *rules;
  bool delivers; // contents must be delivered before the event is done; false: not, or it was done
};

struct weir_event {
  weir__object object;
  _Atomic uint32_t status; // weir_status; sleepers wait on this word
  _Atomic uint32_t sleepers;
  uint32_t references;       // the caller's, the task's, the callback queue's; guarded by the lock
  uint32_t tasks;            // that must still be done: the task, and copies of what it wrote to the caller's memory
  weir__id task, last;       // the task; the last of these copies, which follow it at once, or the task
  weir__callback *callbacks; // oldest first
  struct weir_event *next_called;
  weir__completion_target target; // of a task of Weir's own
  bool has_target;
  uint64_t start_ns, end_ns; // of such a task, in its device's time, once it is done; the start may be 0: not noted
  uint64_t moved_ns;         // that tasks which move bytes and have this event took, as far as it is noted
  weir__ending *ending;      // NULL: the event is done as soon as its outcome is known
  bool decided;              // its outcome is known
  weir_status outcome;
  char message[WEIR__MESSAGE_BYTES];
};

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

struct weir_context {
  weir__host host; // what devices see; the first member
  const struct weir__task_rules *rules[WEIR__TASK_KINDS];
  weir__hits hits;
  weir__range_pool ranges;
  weir__validity_pool validities;
  weir__pool pools[WEIR__MAX_SPACES]; // by space
  weir_device *space_devices[WEIR__MAX_SPACES];
  uint32_t space_count;              // 1: all devices work in the host's memory
  struct weir__predictor *predictor; // NULL: all devices work in the host's memory, or tasks do not become graphs
  uint64_t checks;                   // of arguments; numbers them
  uint64_t code_changes;             // of all kernels; numbers them
  weir__id fence;                    // tasks that are submitted from now on come after this one; 0: none
  weir__id barrier;                  // tasks are not let in before every task below it is done
  weir__task *held;                  // waits for all earlier tasks; NULL: none
  bool held_listed;                  // who may bring it data is all in `hits`, which stays as it is until then
  uint64_t failed_before_held;       // statistics.failed when it was held
  uint32_t graphs_in_flight;
  bool forgot_readers;                  // memory was too short to note who reads which output of a graph
  uint32_t listed_count;                // of the host's devices: those that the caller asked for
  weir_device *cpu;                     // NULL: none
  weir__closer *closers;                // guarded by the lock
  weir_device *copier;                  // runs host tasks that copy; the CPU, or a device of the context's own
  bool polled;                          // some device has no threads of its own
  bool polls;                           // some device has a `poll` function
  bool flushes;                         // some device has a `flush` function
  weir__task *issue_first, *issue_last; // ready for run-ahead devices
  weir__block **fresh;                  // WEIR_MAX_ARGS
  weir__waiter *waiters;
  weir__id wake_at;                       // smallest target of the waiters
  weir_event *called_first, *called_last; // whose callbacks are due
  weir__object_pool buffers, kernels, events, graphs, chains;
  weir__callback *free_callbacks, *callback_arrays;
  uint64_t next_buffer;
  weir_status first_failure;
  char first_failure_text[WEIR__MESSAGE_BYTES];
};

// The context that a device's host is part of.
static inline weir_context *weir__context_of(weir__host *host) {
  return (weir_context *)(void *)host;
}

static inline void weir__context_lock(weir_context *context) {
  weir__host_lock(&context->host);
}

static inline void weir__context_unlock(weir_context *context) {
  weir__host_unlock(&context->host);
}

// Waits until every task with an id below `target` is done. The lock is held before and after, not meanwhile. False:
// `timeout_ns` is over.
bool weir__context_wait(weir_context *context, weir__id target, uint64_t timeout_ns);

// Hands tasks that became ready to run-ahead devices. Called with the lock held by whoever submits or completes.
void weir__context_issue_ready(weir_context *context);

// Poisons what a task should have written. The lock is held.
void weir__poison_outputs(weir__task *task);

// "task 7 'name' (tag 3) on cuda:0". Returns the text's length. The lock is held.
uint32_t weir__context_describe(const weir_context *context, const weir__task *task, char text[WEIR__MESSAGE_BYTES]);

// Lets devices start what they hold back, because somebody waits. The lock is held.
void weir__context_flush(weir_context *context);

// Lets devices without threads report what is done by now. The lock is held.
void weir__context_poll(weir_context *context);

// Fails or finishes an event; the lock is held. Drops the task's reference.
void weir__event_finish(weir_event *event, weir_status status, const char *message);
// An event for a task; `target` may be NULL. NULL: no memory.
weir_event *weir__event_take(weir_context *context, weir__id task, const weir__completion_target *target);
// Has a function called when the task is done. The lock is held. False: no memory.
bool weir__event_add_callback(weir_event *event, weir_event_function function, void *user);
// Lets the event's ending deliver, and its callbacks be called; one reference goes to the queue.
void weir__event_queue(weir_event *event);
void weir__event_drop(weir_event *event); // one reference; the lock is held
// weir_event_wait for an event that the caller has a reference of, though it may be released. No lock is held.
weir_status weir__event_await(weir_event *event, uint64_t timeout_ns);

// What the device's kind made of the kernel's code; NULL: a function is all there is.
static inline const void *weir__kernel_code(const weir_kernel *kernel, const weir_device *device) {
  return kernel->code[device->ops->code];
}

// Chooses the device of a kernel whose code has changed, and notes the change for graphs. The lock is held.
void weir__kernel_choose_device(weir_kernel *kernel);

// Frees what a kernel holds besides its struct.
void weir__kernel_destroy(weir__object *object);
void weir__graph_destroy(weir__object *object);

#endif // WEIR_ENGINE_CONTEXT_H
