// SPDX-License-Identifier: Apache-2.0
//
// What a trace is made of, for its writer.
#ifndef WEIR_TRACE_RECORD_H
#define WEIR_TRACE_RECORD_H

#include "trace/lines.h"
#include "trace/ranks.h"
#include "trace/text.h"
#include "trace/trace.h"

typedef struct weir__trace_device {
  char *name;
  uint32_t lanes;
} weir__trace_device;

struct weir__trace {
  weir__trace_device *devices;
  size_t device_count, device_capacity;
  weir__trace_task *tasks; // ids grow
  size_t task_count, task_capacity;
  weir__trace_task *nodes; // of graphs
  size_t node_count, node_capacity;
  weir__trace_buffer *buffers; // ids grow
  size_t buffer_count, buffer_capacity;
  weir__trace_host_wait *host_waits;
  size_t host_wait_count, host_wait_capacity;
  weir__trace_pipeline *pipelines; // in the order of their ids
  uint32_t pipelines_made;
  weir__trace_rank rank;
  weir__trace_written *written;
  size_t written_count, written_capacity;
  uint64_t now_ns;
  uint64_t dropped;
};

// NULL: not known. Cost O(log buffers).
const weir__trace_buffer *weir__trace_find_buffer(const weir__trace *trace, uint64_t id);

// Makes room for one more entry of `entry_bytes` bytes in *entries. False: no memory, nothing changed.
bool weir__trace_make_room(void **entries, size_t count, size_t *capacity, size_t entry_bytes);

// Writes what concerns ranks: of the head, of a task's "args", and events of their own. Nothing where there is none.
void weir__trace_write_rank(const weir__trace *trace, FILE *file);
void weir__trace_write_call(const weir__trace_task *task, FILE *file);
void weir__trace_write_written(const weir__trace *trace, FILE *file);

// What a lane of a device is called: "worker" on a CPU, else "queue".
const char *weir__trace_lane_word(const weir__trace_device *device);

// "finish", "event", "read", "window" or "memory".
const char *weir__trace_cause_name(weir__trace_cause cause);

// "read", "write" or "read_write"; "RAW", "WAR", "WAW", "AFTER" or "STORAGE".
const char *weir__trace_mode_name(weir_mode mode);
const char *weir__trace_hazard_name(weir__hazard hazard);

// Writes the whole trace. `title` is never NULL.
void weir__trace_write_json(const weir__trace *trace, const char *title, FILE *file);

// Writes what the program issued as a recorded stream. Errors, with a message: INVALID_ARGUMENT (a stream cannot express
// it), OUT_OF_MEMORY (also for records that were lost).
weir_status weir__trace_write_stream(const weir__trace *trace, const char *title, FILE *file, char *message,
                                     size_t message_size);

#endif // WEIR_TRACE_RECORD_H
