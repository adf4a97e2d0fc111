// SPDX-License-Identifier: Apache-2.0
//
// The tasks of a timeline, read from Chrome trace JSON (docs/timeline.md).
#ifndef WEIR_CHECK_TIMELINE_H
#define WEIR_CHECK_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "weir/weir.h"

typedef struct weir__timeline_access {
  weir_mode mode;
  uint64_t buffer, storage, offset, bytes; // offset + bytes does not overflow
} weir__timeline_access;

typedef struct weir__timeline_wait {
  uint64_t task; // id
  char hazard[8];
} weir__timeline_wait;

typedef struct weir__timeline_task {
  uint64_t id, tag;
  char label[48], status[40];
  uint64_t submit_ns, start_ns, end_ns;
  uint32_t line;
  uint32_t access_count, wait_count;
  size_t access_first, wait_first; // in the timeline's arrays
} weir__timeline_task;

typedef struct weir__timeline {
  uint64_t dropped;
  weir__timeline_task *tasks; // in the order of the file
  size_t task_count, task_capacity;
  weir__timeline_access *accesses;
  size_t access_count, access_capacity;
  weir__timeline_wait *waits;
  size_t wait_count, wait_capacity;
} weir__timeline;

// Reads a timeline from a file, or from memory (`name` stands for the file in messages). Only one event is held as
// JSON at a time. On failure *out_timeline is NULL and `message` says "FILE:LINE: what is wrong".
// Errors: INVALID_ARGUMENT (not a timeline), IO, OUT_OF_MEMORY.
weir_status weir__timeline_read(const char *path, char *message, size_t message_size, weir__timeline **out_timeline);
weir_status weir__timeline_read_memory(const char *name, const void *data, size_t bytes, char *message,
                                       size_t message_size, weir__timeline **out_timeline);

// NULL is allowed.
void weir__timeline_destroy(weir__timeline *timeline);

#endif // WEIR_CHECK_TIMELINE_H
