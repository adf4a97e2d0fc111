// SPDX-License-Identifier: Apache-2.0
//
// The fewest bytes that ranks must send: who has which bytes of each buffer, task by task.
#include <stdlib.h>
#include <string.h>

#include "ranks/deal.h"
#include "replay.h"

typedef struct segment {
  uint64_t lo, hi;
  uint64_t holders; // a bit for each rank
} segment;

// Segments of a buffer, in order and without gaps. None: nobody has written it, and everybody has what it holds.
typedef struct holders {
  segment *all;
  size_t count, capacity;
} holders;

static bool start(holders *self, uint64_t bytes) {
  if (self->count > 0) return true;
  if (self->capacity == 0) {
    self->all = malloc(8 * sizeof *self->all);
    if (self->all == NULL) return false;
    self->capacity = 8;
  }
  self->all[0] = (segment){0, bytes, UINT64_MAX};
  self->count = 1;
  return true;
}

// Makes a segment begin at a byte.
static bool cut(holders *self, uint64_t byte) {
  size_t at = 0;
  while (at < self->count && self->all[at].hi <= byte) at++;
  if (at == self->count || self->all[at].lo >= byte) return true;
  if (self->count == self->capacity) {
    segment *larger = realloc(self->all, 2 * self->capacity * sizeof *larger);
    if (larger == NULL) return false;
    self->all = larger;
    self->capacity *= 2;
  }
  memmove(&self->all[at + 1], &self->all[at], (self->count - at) * sizeof *self->all);
  self->count++;
  self->all[at].hi = self->all[at + 1].lo = byte;
  return true;
}

// The rank that runs a task.
static uint32_t rank_of(const weir__stream_task *task, const weir__replay_options *options) {
  const weir__stream_access *chosen = NULL;
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__stream_access *access = &task->accesses[i];
    if (chosen == NULL || (chosen->mode == WEIR_READ && access->mode != WEIR_READ)) chosen = access;
  }
  return chosen == NULL ? 0 : weir__deal(chosen->buffer, options->deal, options->ranks);
}

static void use(holders *self, const weir__stream_access *access, uint32_t rank, bool writes, uint64_t *bytes) {
  uint64_t bit = UINT64_C(1) << rank, hi = access->offset + access->bytes;
  for (size_t i = 0; i < self->count; i++) {
    segment *one = &self->all[i];
    if (one->lo < access->offset || one->hi > hi) continue;
    if (writes) {
      one->holders = bit;
    } else if ((one->holders & bit) == 0) {
      *bytes += one->hi - one->lo;
      one->holders |= bit;
    }
  }
}

static bool follow(const weir__stream *stream, const weir__stream_task *task, const weir__replay_options *options,
                   holders *buffers, uint64_t *bytes) {
  uint32_t rank = rank_of(task, options);
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__stream_access *access = &task->accesses[i];
    holders *buffer = &buffers[access->buffer];
    if (!start(buffer, stream->buffers[access->buffer].bytes) || !cut(buffer, access->offset) ||
        !cut(buffer, access->offset + access->bytes))
      return false;
    if (access->mode != WEIR_WRITE) use(buffer, access, rank, false, bytes);
    if (access->mode != WEIR_READ) use(buffer, access, rank, true, bytes);
  }
  return true;
}

bool weir__replay_fewest_bytes(const weir__stream *stream, const weir__replay_options *options, uint64_t *out_bytes) {
  holders *buffers = calloc((size_t)stream->buffer_count + 1, sizeof *buffers);
  bool good = buffers != NULL;
  *out_bytes = 0;
  for (uint64_t pass = 0; pass < options->repeat && good; pass++) {
    for (uint32_t t = 0; t < stream->task_count && good; t++)
      good = follow(stream, &stream->tasks[t], options, buffers, out_bytes);
    for (uint32_t b = 0; b < stream->buffer_count && good; b++) {
      bool lives_on = options->storage == WEIR__REPLAY_KEPT || stream->buffers[b].parameter;
      if (!lives_on) buffers[b].count = 0; // it is a new one in the next pass
    }
  }
  for (uint32_t b = 0; buffers != NULL && b < stream->buffer_count; b++) free(buffers[b].all);
  free(buffers);
  return good;
}
