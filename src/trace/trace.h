// SPDX-License-Identifier: Apache-2.0
//
// What every task did, kept while a context runs with WEIR_CONTEXT_TRACE, and written as a timeline.
//
// The window fills it: buffers and tasks at submission, times as they become known. All functions that add are called
// with the window's lock held and are not thread-safe by themselves. When memory for a record runs out, the record is
// dropped and counted (`dropped`): a timeline says so rather than being quietly incomplete.
#ifndef WEIR_TRACE_TRACE_H
#define WEIR_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/box.h"

// Why a task waited for another one.
typedef enum weir__hazard {
  WEIR__HAZARD_RAW = 0,     // read after write
  WEIR__HAZARD_WAR = 1,     // write after read
  WEIR__HAZARD_WAW = 2,     // write after write
  WEIR__HAZARD_AFTER = 3,   // named in weir_task.after, or WEIR_CONTEXT_IN_ORDER
  WEIR__HAZARD_STORAGE = 4, // got storage whose last user is this predecessor
} weir__hazard;

typedef struct weir__trace_access {
  weir_mode mode;   // READ, WRITE, READ_WRITE or COMMUTE
  uint64_t buffer;  // number of the logical buffer
  uint64_t storage; // number of the block of memory behind it; two accesses touch the same bytes when storage
  uint64_t offset;  // is the same and [offset, offset + bytes) overlap. The offset is the same in buffer and block
  uint64_t bytes;
  weir_box box;    // in these bytes, in plain form (window/box.h); rows = 0: all of them
  uint32_t memory; // index of the device in whose memory the block is, + 1; 0: the host's
} weir__trace_access;

// Where a transfer puts the bytes that it reads: at the same offset of another block.
typedef struct weir__trace_destination {
  uint64_t storage; // 0: the task is no transfer
  uint32_t memory;  // as in an access
} weir__trace_destination;

typedef struct weir__trace_wait {
  uint64_t task; // id of the predecessor, which was not done when this task was submitted
  weir__hazard hazard;
  uint64_t buffer; // RAW, WAR, WAW: the buffer and the bytes [lo, hi) in common
  uint64_t lo, hi;
} weir__trace_wait;

// What a task is, as far as a recorded stream says it.
typedef enum weir__trace_kind {
  WEIR__TRACE_RUN,      // a kernel, a host task, or the launch of a graph
  WEIR__TRACE_COPY,     // a copy or fill
  WEIR__TRACE_TRANSFER, // Weir's own, between memories
  WEIR__TRACE_FENCE,    // stands for work outside Weir
} weir__trace_kind;

// One stretch of time in which a task, or a part of it, was on a lane (a worker or a queue).
typedef struct weir__trace_span {
  uint32_t lane;
  uint64_t start_ns, end_ns;
  uint32_t node; // of a graph's launch: number of the node in the graph + 1; else 0
  char name[48]; // of the launch or part; "" for the task itself
} weir__trace_span;

// The call of a pipeline's stage that a task was submitted in.
typedef struct weir__trace_origin {
  uint32_t pipeline; // its id: see trace/lines.h
  uint32_t line, stage;
  uint64_t token;
} weir__trace_origin;

// A message between ranks that a task sends or receives.
typedef enum weir__trace_direction {
  WEIR__TRACE_NO_MESSAGE,
  WEIR__TRACE_SENDS,
  WEIR__TRACE_RECEIVES
} weir__trace_direction;

typedef struct weir__trace_message {
  weir__trace_direction direction;
  uint32_t peer;   // the other rank
  uint64_t number; // among the messages from the one rank to the other
} weir__trace_message;

typedef struct weir__trace_task {
  uint64_t id, tag;
  char label[48]; // weir_task.label, else the kernel's name, else "host"
  char kernel[48];
  uint32_t device; // index in the context
  uint32_t lane;   // worker or queue of that device
  weir_status status;
  bool done;
  uint64_t submit_ns, ready_ns, start_ns, end_ns; // ready: the last predecessor was done
  weir__trace_access *accesses;
  uint32_t access_count;
  weir__trace_wait *waits;
  uint32_t wait_count;
  weir__trace_span *spans;
  uint32_t span_count, span_capacity;
  weir__trace_kind kind;
  weir__trace_destination destination;
  bool copies;        // what the one of its two accesses reads to where the other one writes
  uint32_t groups[3]; // of a kernel; 0 counts as 1
  uint64_t *after;    // ids of the tasks named in weir_task.after, whether they were done or not
  uint32_t after_count;
  uint32_t node_count; // of a graph's launch
  bool graph;          // the launch of a graph: its nodes are tasks of their own
  bool has_origin;     // it was submitted by a stage of a pipeline
  weir__trace_origin origin;
  uint64_t call; // of the common sequence of several ranks, which the task or its message is for; 0: none
  weir__trace_message message;
} weir__trace_task;

typedef struct weir__trace_buffer {
  uint64_t id, bytes;
  char label[48];
  uint64_t released_after; // id of the newest task at its release; UINT64_MAX: it was not released
  uint64_t shared;         // its number on all ranks; 0: it is this process's alone
} weir__trace_buffer;

// What a thread of the caller's waited for.
typedef enum weir__trace_cause {
  WEIR__TRACE_FINISH, // weir_finish
  WEIR__TRACE_EVENT,  // weir_event_wait, weir_graph_wait and weir_graph_evaluate
  WEIR__TRACE_READ,   // weir_read
  WEIR__TRACE_WINDOW, // a submission, for room in the window; this one and the next say nothing of the program's order
  WEIR__TRACE_MEMORY, // a submission, for memory
} weir__trace_cause;

typedef struct weir__trace_host_wait {
  weir__trace_cause cause;
  bool reached;              // false: the time was over before
  uint64_t task;             // that was waited for; 0: for all
  uint64_t after;            // id of the newest task when the wait ended
  uint64_t thread;           // the system's number
  uint64_t start_ns, end_ns; // in the time of the first device
} weir__trace_host_wait;

typedef struct weir__trace weir__trace;

weir__trace *weir__trace_create(void); // NULL: no memory
void weir__trace_destroy(weir__trace *trace);
void weir__trace_clear(weir__trace *trace);

// Pipelines are in trace/lines.h, what concerns ranks is in trace/ranks.h.

// Names the devices and how many lanes each has; called once, before anything else is added. The strings are copied.
bool weir__trace_add_device(weir__trace *trace, const char *name, uint32_t lanes);

// Adds a buffer, or changes its label if it is known.
void weir__trace_add_buffer(weir__trace *trace, uint64_t id, uint64_t bytes, const char *label);

// The buffer was released, after the task with this id was submitted.
void weir__trace_release_buffer(weir__trace *trace, uint64_t id, uint64_t after);

// Adds what a thread of the caller's waited for. They come in the order of their ends.
void weir__trace_add_host_wait(weir__trace *trace, const weir__trace_host_wait *wait);

// Adds a task; copies the record with its accesses and waits. Ids grow.
void weir__trace_add_task(weir__trace *trace, const weir__trace_task *task);

// The record of a task, to fill in times and status; NULL if it was dropped or cleared. Valid until the next call
// that adds a task or clears. Cost O(log tasks) at most.
weir__trace_task *weir__trace_find(weir__trace *trace, uint64_t id);

// Adds a span to a task that is known.
void weir__trace_add_span(weir__trace *trace, uint64_t id, const weir__trace_span *span);

// Adds a node of a graph's launch, like a task that is done; its id is weir__trace_node_id of the launch's.
void weir__trace_add_node(weir__trace *trace, const weir__trace_task *node);

// Ids of nodes: apart from those of tasks, and small enough to be exact as a double.
static inline uint64_t weir__trace_node_id(uint64_t launch, uint32_t node) {
  return 1000000000000u + launch * 1000000u + node;
}

// Everything, for writers and tests.
size_t weir__trace_task_count(const weir__trace *trace);
const weir__trace_task *weir__trace_task_at(const weir__trace *trace, size_t index);
uint64_t weir__trace_dropped(const weir__trace *trace);

// Writes the timeline to a file whose name ends in ".json", or what the program issued as a recorded stream to one that
// ends in ".jsonl". docs/inside/timeline-json.md and examples/streams/README.md have the formats. On failure `message` (of `message_size` bytes) says why.
weir_status weir__trace_save(const weir__trace *trace, const char *path, const char *title, char *message,
                             size_t message_size);

#endif // WEIR_TRACE_TRACE_H
