// SPDX-License-Identifier: Apache-2.0
//
// A run: submissions in their order, with all that decides whether another run is the same. Buffers count by their numbers, in the
// order in which the run names them first, and by their sizes; which buffers they are does not matter, nor what values, user pointers
// and tags are.
#ifndef WEIR_REPEATS_RUN_H
#define WEIR_REPEATS_RUN_H

#include "engine/check.h"
#include "engine/plain.h"

enum { WEIR__RUN_MOST_TASKS = 1024, WEIR__RUN_MOST_VALUE_BYTES = 1 << 20 };

typedef struct weir__run_arg {
  uint64_t mode; // and shape, and the reserved member, which is 0
  uint64_t offset, bytes;
  uint32_t place; // the buffer's number, or where the value is among the run's
  bool is_new;    // a value, or a buffer that the run did not name before
} weir__run_arg;

typedef struct weir__run_task {
  weir_kernel *kernel;
  uint64_t code_change; // of the kernel; no two states of kernels have the same
  weir_function host;
  weir_device *asked;
  uint32_t arg_count;
  uint32_t groups[3];
  uint32_t first_arg;
  uint64_t place; // a hash of the run up to this task; of a copy alone
  uint64_t kind;  // a hash of the task: buffers count by how many tasks ago they were named
  char label[WEIR__LABEL_BYTES];
} weir__run_task;

typedef struct weir__run {
  weir_device *device; // of all tasks
  weir__run_task *tasks;
  weir__run_arg *args;
  uint64_t *buffer_bytes; // by number
  uint32_t count, capacity, arg_count, arg_capacity, buffer_count, buffer_capacity;
  uint64_t value_bytes;
  uint64_t number; // of the run: that of its first check
} weir__run;

void weir__run_free(weir__run *run);

// Makes room for so many elements, and keeps those that there are. False: no memory.
bool weir__run_grow(void **array, uint32_t *capacity, uint32_t needed, size_t element);

// Begins anew, and keeps the memory.
void weir__run_clear(weir__run *run, uint64_t number);

// The device of a task that can be part of a run: a kernel or host task of plain arguments that are right. NULL: it cannot.
weir_device *weir__run_device(const weir_context *context, const weir_task *task);

// Appends a task for which there is a device. False: no memory, or the run is full.
bool weir__run_append(weir__run *run, const weir_task *task, weir_device *device);

// Copies tasks [first, end) as a run of their own, and gives them their places. False: no memory.
bool weir__run_copy(const weir__run *run, uint32_t first, uint32_t end, weir__run *out_copy);

// Whether a buffer can be an argument in a run. It is valid.
static inline bool weir__run_takes(const weir_buffer *buffer) {
  if (buffer->image || buffer->adopted || buffer->scratch) return false;
  return buffer->by_ranges == 0 || (!buffer->reducing && !buffer->boxed); // where there are boxes it is used by ranges
}

#endif // WEIR_REPEATS_RUN_H
