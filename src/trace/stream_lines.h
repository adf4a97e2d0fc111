// SPDX-License-Identifier: Apache-2.0
//
// The lines of a recorded stream: buffers, and tasks with what they access.
// A function that returns false has failed, and noted why.
#ifndef WEIR_TRACE_STREAM_LINES_H
#define WEIR_TRACE_STREAM_LINES_H

#include "trace/record.h"

enum { WEIR__STREAM_ALIGNMENT = 64 }; // of the addresses, which are made up: no two buffers share any

typedef struct weir__stream_writer_range {
  uint64_t buffer, offset, bytes;
} weir__stream_writer_range;

typedef struct weir__stream_writer_buffer {
  bool declared, freed, dirty; // dirty: written since the host waited for all
} weir__stream_writer_buffer;

typedef struct weir__stream_writer {
  const weir__trace *trace;
  FILE *file; // NULL: tasks are only counted
  char *message;
  size_t message_size;
  weir_status status;
  uint64_t tasks, kernels, waits, next_address;
  double kernel_us;
  const weir__trace_task **nodes;            // by id
  bool *has_token, *token_dirty;             // of tasks, then of nodes in the order of `nodes`
  weir__stream_writer_buffer *buffers;       // as in the trace
  size_t *by_release;                        // indices of buffers that were released
  size_t release_count, released;            // how many are freed, or never will be
  size_t host_wait;                          // the next
  weir__stream_writer_range *reads, *writes; // of the present task
  size_t read_count, write_count, capacity;
  uint64_t ranges; // what it accesses, each counted once
} weir__stream_writer;

// Notes a failure, with `task` in its text if that is not 0. Returns false.
bool weir__stream_writer_fail(weir__stream_writer *writer, weir_status status, const char *text, uint64_t task);
bool weir__stream_writer_no_memory(weir__stream_writer *writer);

// The line of a buffer.
bool weir__stream_writer_declare(weir__stream_writer *writer, uint64_t id, uint64_t bytes, const char *label);

// A task uses a buffer of the trace: its line comes before the first task that does.
bool weir__stream_writer_use_buffer(weir__stream_writer *writer, uint64_t id, bool writes);

// Collects what the present task reads or writes. A box is its rows.
bool weir__stream_writer_add_range(weir__stream_writer *writer, bool writes, weir__stream_writer_range range);
bool weir__stream_writer_add_access(weir__stream_writer *writer, bool writes, const weir__trace_access *access);

// Writes the task that is collected in reads and writes. `task` NULL: it has no kernel.
bool weir__stream_writer_write(weir__stream_writer *writer, uint64_t number, const char *op,
                               const weir__trace_task *task, bool wait);

#endif // WEIR_TRACE_STREAM_LINES_H
