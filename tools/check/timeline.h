// SPDX-License-Identifier: Apache-2.0
//
// The tasks of a timeline, and what lines of pipelines did, read from Chrome trace JSON (docs/inside/timeline-json.md).
#ifndef WEIR_CHECK_TIMELINE_H
#define WEIR_CHECK_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/weir.h"

typedef struct weir__timeline_access {
  weir_mode mode;
  uint64_t buffer, storage, offset, bytes; // offset + bytes does not overflow
  uint64_t shared;                         // the buffer's number on all ranks; 0: it has none
  uint64_t memory;                         // index of the device in whose memory the storage is, + 1; 0: the host's
} weir__timeline_access;

// Where a transfer puts the bytes that its one access reads: at the same offset of another storage.
typedef struct weir__timeline_destination {
  uint64_t storage, memory; // 0: the task is no transfer; as in an access
} weir__timeline_destination;

typedef struct weir__timeline_wait {
  uint64_t task; // id
  char hazard[8];
} weir__timeline_wait;

// A call of a pipeline's stage.
typedef struct weir__timeline_origin {
  uint64_t pipeline; // its id; once all is read: index of the timeline's pipeline
  uint64_t line, stage, token;
} weir__timeline_origin;

// Ids and numbers of rank r of several begin at r times so many.
#define WEIR__TIMELINE_RANK_IDS UINT64_C(10000000000000)

// What a task of one of several ranks does with a message.
typedef enum weir__timeline_direction {
  WEIR__TIMELINE_NO_MESSAGE,
  WEIR__TIMELINE_SENDS,
  WEIR__TIMELINE_RECEIVES
} weir__timeline_direction;

typedef struct weir__timeline_call {
  uint64_t number; // of the call that the task or its message is for; 0: none
  weir__timeline_direction direction;
  uint64_t peer, message; // the other rank, and the message's number among those from the one to the other
} weir__timeline_call;

// Bytes that a rank overwrote by tasks that are no calls, as a call says.
typedef struct weir__timeline_written {
  uint64_t call, rank, buffer, shared, offset, bytes;
} weir__timeline_written;

// One of several ranks.
typedef struct weir__timeline_rank {
  uint64_t number, error_ns; // its times may be wrong by so much, compared with those of rank 0
} weir__timeline_rank;

typedef struct weir__timeline_task {
  uint64_t id, tag;
  char label[48], status[40];
  uint64_t submit_ns, start_ns, end_ns;
  uint32_t line;
  uint32_t access_count, wait_count;
  size_t access_first, wait_first; // in the timeline's arrays
  bool has_origin;                 // a stage submitted it
  weir__timeline_origin origin;
  weir__timeline_call call;
  weir__timeline_destination destination;
  bool copies; // what the one of its two accesses reads to where the other one writes
} weir__timeline_task;

enum { WEIR__TIMELINE_MOST_STAGES = 64, WEIR__TIMELINE_MOST_LINES = 4096 };

typedef struct weir__timeline_stage {
  char name[48];
  bool serial;
} weir__timeline_stage;

typedef struct weir__timeline_pipeline {
  uint64_t id, lines;
  uint32_t stage_count;
  weir__timeline_stage *stages;
} weir__timeline_pipeline;

typedef enum weir__timeline_state {
  WEIR__STATE_BUSY,
  WEIR__STATE_TURN,
  WEIR__STATE_TASKS,
  WEIR__STATE_THREAD,
  WEIR__STATE_FREE,
} weir__timeline_state;

// One stretch of time of a line.
typedef struct weir__timeline_span {
  weir__timeline_origin at; // stage and token as far as there are any
  uint64_t start_ns, end_ns;
  uint32_t file_line;
  uint8_t state; // weir__timeline_state
  bool has_token;
} weir__timeline_span;

typedef struct weir__timeline_label {
  uint64_t buffer;
  char text[48];
} weir__timeline_label;

enum { WEIR__TIMELINE_LABEL_SLOTS = 4096 };

typedef struct weir__timeline_device {
  char name[48];
} weir__timeline_device;

typedef struct weir__timeline {
  uint64_t dropped;
  weir__timeline_task *tasks; // in the order of the file
  size_t task_count, task_capacity;
  weir__timeline_task *launches; // of graphs, whose nodes are tasks, as far as the device noted their times
  size_t launch_count, launch_capacity;
  weir__timeline_access *accesses;
  size_t access_count, access_capacity;
  weir__timeline_wait *waits;
  size_t wait_count, wait_capacity;
  weir__timeline_pipeline *pipelines; // ids grow
  size_t pipeline_count;
  weir__timeline_span *spans; // in the order of the file
  size_t span_count, span_capacity;
  weir__timeline_rank *ranks; // of a timeline that was joined, by number
  size_t rank_count;
  uint64_t part_of;               // so many ranks, whose timelines have not been joined; 0: it is the whole
  weir__timeline_device *devices; // of all ranks, in order
  size_t device_count;
  weir__timeline_written *written; // in the order of the file
  size_t written_count, written_capacity;
  weir__timeline_label *labels; // of buffers that have one; some may be there more than once
  size_t label_count, label_capacity;
  uint32_t label_slots[WEIR__TIMELINE_LABEL_SLOTS]; // by number of the buffer: index of a label + 1
} weir__timeline;

// Reads a timeline from a file, or from memory (`name` stands for the file in messages). Only one event is held as
// JSON at a time. On failure *out_timeline is NULL and `message` says "FILE:LINE: what is wrong".
// Errors: INVALID_ARGUMENT (not a timeline), IO, OUT_OF_MEMORY.
weir_status weir__timeline_read(const char *path, char *message, size_t message_size, weir__timeline **out_timeline);
weir_status weir__timeline_read_memory(const char *name, const void *data, size_t bytes, char *message,
                                       size_t message_size, weir__timeline **out_timeline);

// The name of the device with a memory; "the host": it has none.
const char *weir__timeline_memory_name(const weir__timeline *timeline, uint64_t memory);

// A buffer's label; "": it has none. For messages: it takes time.
const char *weir__timeline_label_of(const weir__timeline *timeline, uint64_t buffer);

// NULL is allowed.
void weir__timeline_destroy(weir__timeline *timeline);

#endif // WEIR_CHECK_TIMELINE_H
