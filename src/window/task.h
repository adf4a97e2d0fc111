// SPDX-License-Identifier: Apache-2.0
//
// A task in flight: one slot of the window.
#ifndef WEIR_WINDOW_TASK_H
#define WEIR_WINDOW_TASK_H

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/liveness.h"
#include "weir/box.h"
#include "weir/weir.h"

enum {
  WEIR__TASK_INLINE_SUCCESSORS = 8,
  WEIR__TASK_INLINE_PAYLOAD = 320,
  WEIR__TASK_INLINE_PREDECESSORS = 4,
  WEIR__LOCK_CLASSES = 256, // of weir__task.lock_class
  WEIR__CHUNK_EDGES = 13,
};

// An edge to a successor: its slot, and two bits.
enum {
  WEIR__EDGE_DATA = 1u,   // the successor reads what this task writes: a failure skips it
  WEIR__EDGE_BLOCKS = 2u, // the successor cannot be issued before this edge is resolved
  WEIR__EDGE_BITS = 2,
};

typedef struct weir__edge_chunk {
  struct weir__edge_chunk *next;
  uint32_t count;
  uint32_t edges[WEIR__CHUNK_EDGES];
} weir__edge_chunk;

// One buffer argument of a task: kept to poison what a failed task should have written.
typedef struct weir__access {
  weir_buffer *buffer;
  uint64_t lo, hi;
  uint32_t serial; // of the buffer's contents when the task was submitted
  uint8_t mode;    // weir_mode
  uint8_t space;   // where the task finds the bytes
  uint16_t box;    // 0: they are [lo, hi). Else they are a box in it, which is so many times 8 bytes behind this struct
} weir__access;

static_assert(sizeof(weir__access) == 32, "accesses fill the payload");

// The box of an access, in plain form (window/box.h); NULL: it is a range.
static inline const weir_box *weir__access_box(const weir__access *access) {
  return access->box == 0 ? NULL
                          : (const weir_box *)(const void *)((const uint64_t *)(const void *)access + access->box);
}

// Whether the access is of every byte of a buffer of `bytes` bytes.
static inline bool weir__access_is_whole(const weir__access *access, uint64_t bytes) {
  return access->lo == 0 && access->hi == bytes && access->box == 0;
}

enum { WEIR__NO_CHECK = UINT8_MAX }; // weir__task.asked: a copy of Weir's own

// What a task is.
typedef enum weir__task_kind {
  WEIR__TASK_KERNEL,
  WEIR__TASK_HOST,     // a C function that is called once
  WEIR__TASK_OPEN,     // what the caller puts on a queue between its beginning and its end (device/open.h)
  WEIR__TASK_COPY,     // a copy or fill that a device makes
  WEIR__TASK_TRANSFER, // brings contents of a buffer to another memory
  WEIR__TASK_FENCE,    // stands for a point in the caller's own work on a device
  WEIR__TASK_LAUNCH,   // of a graph
  WEIR__TASK_KINDS,
} weir__task_kind;

// Bytes that a device moves: between two storages of one buffer for a transfer; for a copy between buffers, or with memory
// of the caller's that the device can reach.
typedef struct weir__move {
  void *destination;
  const void *source;
  uint64_t bytes;
  uint8_t destination_space, source_space;
  bool write_back; // of a transfer: to memory that the caller wrapped
  bool fill;       // `pattern` again and again, `bytes` / 4 times; no source
  uint32_t pattern;
} weir__move;

struct weir__graph_run;
struct weir__external_fence;

typedef struct weir__task {
  // Scheduling; guarded by the context's lock. Submitting a later task writes here, so a device's thread should find nothing
  // here that it needs before the task is done.
  alignas(64) weir__id mark; // the last task that took this one as a predecessor
  uint32_t blockers;         // edges that must be resolved before the task is issued
  uint32_t successor_count;
  uint32_t successors[WEIR__TASK_INLINE_SUCCESSORS];
  weir__edge_chunk *more_successors; // newest first
  // Bit k: the task k + 1 before this one is done first, by way of tasks that were in flight when this one was submitted.
  uint64_t ancestors;
  // Written at submission: what is run.
  alignas(64) weir__id id;
  weir_function function;  // NULL: nothing to run on a CPU
  void *user;              // of a FENCE: the fence; of an OPEN: a weir__open
  weir_kernel *kernel;     // NULL: host task
  void **args;             // in the payload
  struct weir__task *next; // in the device's lists
  uint32_t arg_count, access_count;
  int8_t priority;
  uint8_t device; // index in the context
  uint8_t kind;   // weir__task_kind
  uint8_t asked;  // index of the device that was asked for, where the checker has the task (check/checker.h)
  // Set with the lock held; a device's thread may ask without it, and is told by completion at the latest.
  _Atomic bool reads_poison; // a predecessor by data failed, or the bytes were poisoned before
  bool issued : 1;           // guarded by the lock, like the five that follow
  bool failing : 1;          // it will not end well, though it is not done yet
  uint8_t commutes : 2;      // see window/commute.h
  bool labelled : 1;         // its label is kept (weir__context_keep_label)
  bool awaits : 1;           // its device keeps it behind an import in flight: it counts as issued when that is over
  bool usual : 1;            // the next line says nothing of it
  _Atomic bool dropped;      // as `reads_poison`: it was cancelled by itself, not with all; of a transfer: what it was
                             // to pass on did not arrive
  uint8_t lock_class;        // of a function that holds a lock of the program's (weir_task.lock_key); 0: it does not
  // What is the same for most tasks of the CPU, which leave this line as it is: so it stays in the caches of both cores.
  alignas(64) weir_event *event; // NULL: none; guarded by the lock
  struct weir__cpu_guest *guest; // the submitting thread, which offers to run it; NULL once it was submitted
  uint64_t tag;
  // By kind; NULL for others.
  struct weir__graph_run *run; // LAUNCH
  const weir__move *move;      // COPY, TRANSFER; in the payload, where accesses[0] is the buffer of a transfer
  weir__access *accesses;      // in the payload
  uint32_t groups[3];
  uint32_t large_payload_bytes;
  // What most tasks of the CPU never look at: predecessors on the same run-ahead device, for its issue.
  alignas(64) weir__id *predecessors; // `few_predecessors`, or an array that the slot keeps for the tasks that follow
  uint32_t predecessor_count, predecessor_capacity;
  weir__id few_predecessors[WEIR__TASK_INLINE_PREDECESSORS];
  const void *code; // the kernel's, for a device that does not run functions
  // Arguments: accesses, pointers, values. The larger room is kept by the slot, too.
  void *large_payload;
  alignas(64) unsigned char payload[WEIR__TASK_INLINE_PAYLOAD];
} weir__task;

// Submitting a task writes most of its lines, and its device's thread, on another core, reads them: none is there for nothing.
static_assert(offsetof(weir__task, event) == 2 * 64, "what is run fills one line of the cache");
static_assert(offsetof(weir__task, payload) == 4 * 64, "the payload begins the fifth line of the cache");
static_assert(sizeof(weir__task) == 9 * 64, "nine lines");

// Whether an argument is a value: those are in the payload, behind the pointers.
static inline bool weir__task_is_value(const weir__task *task, uint32_t index) {
  uintptr_t first = (uintptr_t)(task->args + task->arg_count), value = (uintptr_t)task->args[index];
  bool is_inline = (const void *)task->args >= (const void *)task->payload &&
                   (const void *)task->args < (const void *)(task->payload + WEIR__TASK_INLINE_PAYLOAD);
  uintptr_t end = is_inline ? (uintptr_t)task->payload + WEIR__TASK_INLINE_PAYLOAD
                            : (uintptr_t)task->large_payload + task->large_payload_bytes;
  return value >= first && value < end;
}

// The fence of a FENCE; NULL: it is another kind of task.
static inline struct weir__external_fence *weir__task_fence(const weir__task *task) {
  return task->kind == WEIR__TASK_FENCE ? task->user : NULL;
}

// How many bytes a value has; not for nodes of a graph.
static inline uint64_t weir__task_value_bytes(const weir__task *task, uint32_t index) {
  uint64_t bytes;
  memcpy(&bytes, (const char *)task->args[index] - 8, sizeof bytes);
  return bytes;
}

#endif // WEIR_WINDOW_TASK_H
