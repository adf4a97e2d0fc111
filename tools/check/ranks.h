// SPDX-License-Identifier: Apache-2.0
//
// The check of a timeline that was joined from those of several ranks. docs/inside/checker.md, "Ranks", has the rules.
#ifndef WEIR_CHECK_RANKS_H
#define WEIR_CHECK_RANKS_H

#include "check/checker.h"

// A message between ranks. Its tasks are indices in the checker's; UINT32_MAX: there is none.
typedef struct weir__rank_message {
  uint64_t from, to, number;
  uint32_t send, receive;
  const weir__timeline_access *sent; // what the send reads of a shared buffer, or what was copied to where it reads
  weir__interval *carried;           // what the sender had: bytes, and who wrote them
  size_t carried_count;
} weir__rank_message;

typedef struct weir__ranks {
  weir__checker *checker;       // its tasks and accesses are those of all ranks, by rank, each rank's in its own order
  weir__rank_message *messages; // by from, to, number
  size_t message_count;
  uint32_t *message_of; // by task: index of its message; UINT32_MAX: it has none
} weir__ranks;

static inline uint64_t weir__rank_of(const weir__timeline_task *task) {
  return task->id / WEIR__TIMELINE_RANK_IDS;
}

// The program of all ranks: its buffers, for a stream, where `address` is a buffer's number in the timeline, and `id` the one that
// messages name; the checker's tasks, some of which may be wrong; their accesses. False: no memory.
bool weir__ranks_take_buffers(const weir__timeline *timeline, weir__stream *out_stream);
bool weir__ranks_take_tasks(weir__checker *checker);
bool weir__ranks_take_accesses(weir__checker *checker);

// The index of a buffer in the checker's stream, by its number in the timeline.
uint32_t weir__ranks_buffer(const weir__stream *stream, uint64_t number);

// The steps, in this order; false: no memory.
bool weir__ranks_messages(weir__ranks *self); // has each message one end on either side, alike, and in time?
bool weir__ranks_calls(weir__ranks *self);    // is each call made once, and by each rank in the order of all?
bool weir__ranks_versions(weir__ranks *self); // does each call read what the call before it in the sequence wrote?

// Are the calls the tasks of a stream, in its order?
bool weir__ranks_stream(weir__ranks *self, const weir__stream *stream);

#endif // WEIR_CHECK_RANKS_H
