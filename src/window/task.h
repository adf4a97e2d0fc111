// SPDX-License-Identifier: Apache-2.0
//
// A task in flight: one slot of the window.
#ifndef WEIR_WINDOW_TASK_H
#define WEIR_WINDOW_TASK_H

#include <stdalign.h>

#include "base/liveness.h"
#include "weir/weir.h"

enum {
  WEIR__TASK_INLINE_SUCCESSORS = 8,
  WEIR__TASK_INLINE_PAYLOAD = 256,
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
  uint32_t serial; // of the buffer's storage when the task was submitted
  weir_mode mode;
} weir__access;

struct weir__graph_run;

typedef struct weir__task {
  // Scheduling; guarded by the context's lock.
  alignas(64) weir__id id;
  weir__id mark;     // the last task that took this one as a predecessor
  uint32_t blockers; // edges that must be resolved before the task is issued
  uint32_t successor_count;
  uint32_t successors[WEIR__TASK_INLINE_SUCCESSORS];
  weir__edge_chunk *more_successors; // newest first
  // Written at submission, then only read until the task is done.
  alignas(64) weir_function function; // NULL: nothing to run on a CPU
  void *user;
  weir_kernel *kernel; // NULL: host task
  void **args;         // in the payload
  weir__access *accesses;
  uint32_t arg_count, access_count;
  uint32_t groups[3];
  int8_t priority;
  uint8_t device;    // index in the context
  bool reads_poison; // guarded by the lock: a predecessor by data failed, or the bytes were poisoned before
  bool issued;       // guarded by the lock
  weir_event *event; // NULL: none; guarded by the lock
  uint64_t tag;
  struct weir__graph_run *run; // NULL: an ordinary task
  struct weir__task *next;     // in the device's lists
  // Arguments: pointers, accesses, values. The larger one is kept by the slot for the tasks that follow.
  void *large_payload;
  size_t large_payload_bytes;
  // Predecessors on the same run-ahead device, for its issue.
  weir__id *predecessors;
  uint32_t predecessor_count, predecessor_capacity;
  alignas(16) unsigned char payload[WEIR__TASK_INLINE_PAYLOAD];
} weir__task;

#endif // WEIR_WINDOW_TASK_H
