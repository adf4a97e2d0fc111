// SPDX-License-Identifier: Apache-2.0
//
// Logical buffers: what memory is behind them now, and who uses which bytes.
#ifndef WEIR_WINDOW_BUFFER_H
#define WEIR_WINDOW_BUFFER_H

#include "memory/pool.h"
#include "window/object.h"
#include "window/range_map.h"

struct weir_buffer {
  weir__object object;
  uint64_t id, bytes;
  weir__block *block; // NULL: no storage yet, or wrapped
  void *memory;       // the storage's first byte; NULL: none yet
  uint64_t storage;   // number of the storage, for timelines
  uint32_t serial;    // changes with every new storage, and when the struct is used for another buffer
  bool wrapped;
  bool ranged;       // `map` is in use, else `whole`
  weir__id last_use; // newest task that names this buffer with this storage
  weir__segment whole;
  weir__range_map map;
  char label[48];
};

// The general case of weir__buffer_access.
void weir__buffer_access_range(weir_buffer *buffer, weir__range_pool *pool, const weir__liveness *liveness,
                               weir__id task, weir_mode mode, uint64_t lo, uint64_t hi, weir__hits *hits);

// Records the access of `task` to [lo, hi) and collects predecessors. A range that is not the whole buffer needs a reserve
// of one access in `pool`.
static inline void weir__buffer_access(weir_buffer *buffer, weir__range_pool *pool, const weir__liveness *liveness,
                                       weir__id task, weir_mode mode, uint64_t lo, uint64_t hi, weir__hits *hits) {
  buffer->last_use = task;
  if (buffer->ranged || lo != 0 || hi != buffer->bytes)
    weir__buffer_access_range(buffer, pool, liveness, task, mode, lo, hi, hits);
  else if (mode == WEIR_READ)
    weir__segment_read(&buffer->whole, liveness, task, lo, hi, hits);
  else
    weir__segment_write(&buffer->whole, liveness, task, mode == WEIR_READ_WRITE, lo, hi, hits);
}

// Whether no task in flight uses the buffer's storage.
bool weir__buffer_idle(weir_buffer *buffer, const weir__liveness *liveness);

// Poisons what `task` was the last to write in [lo, hi).
void weir__buffer_poison(weir_buffer *buffer, weir__id task, uint64_t lo, uint64_t hi);

// Gives up the storage and forgets its users: the block goes to the pool, at once if the buffer is `idle`, or else when its
// users are done.
void weir__buffer_drop_storage(weir_buffer *buffer, weir__pool *pool, bool idle);

// Puts `block` behind a buffer without storage.
void weir__buffer_set_storage(weir_buffer *buffer, weir__block *block);

#endif // WEIR_WINDOW_BUFFER_H
