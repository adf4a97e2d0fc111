// SPDX-License-Identifier: Apache-2.0
//
// A random program: a list of operations on Weir's interface, made from a seed. Two interpreters run it: Weir
// (program_run.h), and one that runs every task at once, in order (program_reference.h).
//
// An operation is known by its index in the program. A buffer or graph is known by the operation that creates it, an
// event by the operation that submits its task.
#ifndef WEIR_TESTS_PROGRAM_H
#define WEIR_TESTS_PROGRAM_H

#include <stdio.h>

#include "weir/weir.h"

enum {
  PROGRAM_MAX_ACCESSES = 6,
  PROGRAM_MAX_AFTER = 3,
  PROGRAM_KERNELS = 3,
  PROGRAM_FIRST_RESIDENT = 1,     // kernels from here on may run in a resident one
  PROGRAM_CALLED = 0,             // the kernel that may be an enqueue function
  PROGRAM_HOST = PROGRAM_KERNELS, // in place of a kernel's number: a host task
  PROGRAM_MAX_LIVE = 12,          // buffers at a time
  PROGRAM_CHURN_BYTES = 1280,     // storage of one buffer, at most, when buffers churn
  PROGRAM_GROUPS = 2,             // groups that tasks may be in
};

#define PROGRAM_NO_FAILURE UINT32_MAX

typedef enum operation_kind {
  OPERATION_BUFFER,           // creates or wraps `bytes` bytes, and fills them from `seed`
  OPERATION_BLANK,            // creates `bytes` bytes that operation `target` fills
  OPERATION_BUFFER_PAIR,      // creates `bytes` bytes; `task` overwrites them and the blank buffer `source`
  OPERATION_BUFFER_RELEASE,   // releases `buffer`
  OPERATION_TASK,             // submits `task`
  OPERATION_COPY_IN,          // copies `bytes` bytes made from `seed` to `buffer` at `offset`
  OPERATION_COPY_OUT,         // copies `bytes` bytes from `buffer` at `offset`
  OPERATION_FILL,             // fills `bytes` bytes of `buffer` at `offset` with a pattern from `seed`
  OPERATION_COPY,             // copies `bytes` bytes to `buffer` at `offset` from `source` at `source_offset`
  OPERATION_EVENT_WAIT,       // waits for the task of operation `target`, `timeout_ns` at most
  OPERATION_EVENT_POLL,       // polls it
  OPERATION_EVENT_RELEASE,    // releases its event
  OPERATION_FINISH,           // waits for all
  OPERATION_GROUP_WAIT,       // waits for group `target`, and then cancels it if `callback`, which nothing is left for
  OPERATION_KERNEL_RENEW,     // releases kernel `target` and creates it again
  OPERATION_GRAPH,            // records `task_count` tasks
  OPERATION_GRAPH_SET_VALUE,  // gives node `node` of graph `target` a new seed
  OPERATION_GRAPH_SET_BUFFER, // lets access `access` of node `node` of graph `target` use `buffer`
  OPERATION_GRAPH_REPLACE,    // replaces `source` by `buffer` in graph `target`
  OPERATION_GRAPH_LAUNCH,     // launches graph `target`
  OPERATION_GRAPH_RELEASE,    // releases graph `target`
} operation_kind;

// Bytes of a buffer: rows at equal distances, and slices of these. Width 0: not so, but a range.
typedef struct program_box {
  uint32_t width, pitch, rows, slice_pitch, slices;
} program_box;

typedef struct program_access {
  weir_mode mode;
  uint32_t buffer;
  uint32_t offset, bytes; // from the first byte to the last
  bool whole;             // say WEIR_WHOLE in place of `bytes`
  program_box box;
} program_access;

// The rows of an access, of which a range is one: how many, where they begin in the buffer, and how long they are.
uint32_t program_rows(const program_access *access);
uint32_t program_row(const program_access *access, uint32_t number);
uint32_t program_row_bytes(const program_access *access);

// All the bytes of its rows.
static inline uint32_t program_bytes(const program_access *access) {
  return program_rows(access) * program_row_bytes(access);
}

typedef struct program_task {
  uint64_t seed;
  uint32_t kernel; // or PROGRAM_HOST
  uint32_t access_count;
  program_access accesses[PROGRAM_MAX_ACCESSES];
  uint32_t value_index; // argument before which a second value stands
  uint32_t value_bytes; // 0: there is none
  uint32_t groups[3];
  uint32_t fail_group; // work-group in which the task fails
  uint32_t pause;      // how long each work-group takes: loops, or 1: gives the processor away
  uint32_t device;     // 0: left to Weir; else device number + 1
  uint32_t group;      // 0: none; else the number of its group + 1
  bool plain;          // has no user, tag and priority
  int32_t priority;
} program_task;

typedef struct program_operation {
  operation_kind kind;
  uint32_t buffer, source, target;
  uint32_t node, access;
  uint64_t offset, source_offset, bytes;
  uint64_t seed;
  uint64_t timeout_ns;
  bool wrapped;
  bool event;    // keep an event of the submission
  bool callback; // attach a callback to it
  uint32_t after[PROGRAM_MAX_AFTER], after_count;
  program_task task;
  program_task *tasks;
  uint32_t task_count;
  bool changed; // a graph that had a buffer replaced: its `tasks` are no longer what it holds
} program_operation;

typedef struct test_program {
  uint64_t seed;
  uint32_t device_count;
  program_operation *operations;
  uint32_t count, capacity;
  bool *dropped;       // per operation: left out, by the shrinker or because Weir had no memory for it
  uint64_t live_bytes; // the most bytes of created buffers that are alive at a time, with a margin of a quarter
} test_program;

typedef struct program_shape {
  uint32_t length;       // about how many operations
  uint32_t device_count; // devices that tasks may name; 0: they name none
  bool host_tasks, graphs, failures;
  bool groups;  // some tasks are in groups
  bool pauses;  // let tasks take different times
  bool phrases; // sequences of tasks come again, with other values and buffers, and break off
  bool breaks;  // at each of their positions; programs are made of little else
  bool churn;   // create and release many buffers of nearly one size, at most PROGRAM_CHURN_BYTES
  bool dense;   // many short ranges of few large buffers
  bool boxes;   // accesses of all kinds, boxes among them, of a few buffers, and fills
  // Where kernels have code for CUDA or Vulkan: bit per device that is one; a second value has 8 bytes, and tasks there never
  // fail.
  uint32_t cards;
  uint32_t calls;     // bit per device: there the kernel PROGRAM_CALLED is an enqueue function, and its tasks may fail
  uint32_t ranges;    // bit per device: there tasks use no boxes
  uint32_t alignment; // of ranges that tasks name; 0: none
  uint32_t largest;   // buffer; 0: any
} program_shape;

// Makes the program of a seed. Never fails: without memory the test ends.
void program_generate(test_program *out_program, uint64_t seed, const program_shape *shape);
void program_deinitialize(test_program *program);

// Whether an operation lacks something that a dropped operation would have made.
bool program_operation_lacks(const test_program *program, uint32_t index);

// Drops all operations that lack something.
void program_drop_dependents(test_program *program);

// Whether an operation submits one task, copy or graph.
bool program_submits(operation_kind kind);

// Prints the operations that are not dropped, for people.
void program_print(const test_program *program, FILE *file);

// Memory that is there, or the end of the test.
void *program_memory(size_t bytes);

#endif // WEIR_TESTS_PROGRAM_H
