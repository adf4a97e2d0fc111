// SPDX-License-Identifier: Apache-2.0
//
// What the joining of timelines is made of.
#ifndef WEIR_TIMELINE_JOIN_PARTS_H
#define WEIR_TIMELINE_JOIN_PARTS_H

#include <stdio.h>

#include "check/timeline_reader.h"
#include "timeline/join.h"

// Ids and numbers of different ranks are apart.
enum { WEIR__JOIN_PIPELINES = 1000000, WEIR__JOIN_PROCESSES = 100000 };

static inline uint64_t weir__join_base(uint64_t rank) {
  return rank * WEIR__TIMELINE_RANK_IDS;
}

typedef struct weir__join_send {
  uint64_t to, number, id;
} weir__join_send;

typedef struct weir__join_rank {
  const char *path;
  uint64_t number, ranks, zero_ns, error_ns;
  json_t *head;
  weir__join_send *sends;
  size_t send_count, send_capacity;
  uint64_t device_count, first_device;
  uint64_t shift_ns; // from its time to that of the whole
} weir__join_rank;

typedef struct weir__join {
  weir__join_rank *ranks; // by number
  size_t count;
} weir__join;

// A whole number of an object; 0: it is not there.
static inline uint64_t weir__join_whole(const json_t *object, const char *key) {
  return (uint64_t)json_integer_value(json_object_get(object, key));
}

// The id, in the whole, of the task that sends a message; 0: there is none.
uint64_t weir__join_find_send(const weir__join *self, uint64_t from, uint64_t to, uint64_t number);

// Adds to a whole number of an object, if it is there.
void weir__join_add(json_t *object, const char *key, uint64_t more);

// Gives an event of a rank the numbers and times of the whole; to a receive, the send that it waits for. False: no
// memory.
bool weir__join_change(const weir__join *self, uint64_t rank, json_t *event);

// Writes an arrow's end behind a task that sends or receives, for viewers of Chrome's format.
void weir__join_write_flow(uint64_t rank, const json_t *event, FILE *file);

#endif // WEIR_TIMELINE_JOIN_PARTS_H
