// SPDX-License-Identifier: Apache-2.0
//
// Logical buffers: what memory is behind them now, and who uses which bytes.
#ifndef WEIR_WINDOW_BUFFER_H
#define WEIR_WINDOW_BUFFER_H

#include <stdalign.h>

#include "memory/pool.h"
#include "window/box_map.h"
#include "window/object.h"
#include "window/range_map.h"
#include "window/validity.h"

// Memory comes in spaces: the host's (0), and one for each device with memory of its own.
// Numbers of storage tell in which space it is by the bits from NUMBER_SPACE_SHIFT on.
enum { WEIR__HOST_SPACE = 0, WEIR__MAX_SPACES = 9, WEIR__NUMBER_SPACE_SHIFT = 48 };

// A buffer's storage in one space.
typedef struct weir__replica {
  weir__block *block; // NULL: none, or wrapped memory
  void *memory;       // its first byte; NULL: none
  uint64_t storage;   // number of the storage, for timelines
  weir__id arrival;   // the newest transfer that brings contents; below the oldest task: all that came are there
} weir__replica;

// Storage that a buffer gave up when it was overwritten.
typedef struct weir__version {
  weir__block *block; // NULL: none
  uint64_t number;    // of the block's storage then
} weir__version;

// How a buffer was used, as far as searches for what may give way noticed (engine/victims.h). Times are numbers of tasks.
typedef struct weir__reuse {
  weir__id used;    // the newest use; 0: none was noticed
  weir__id gaps[2]; // between the last uses that did not follow each other at once, newest first; 0: not known
} weir__reuse;

// What every access looks at comes first: two cache lines, and that of its space's replica.
struct weir_buffer {
  weir__object object;
  uint64_t bytes;
  weir__id last_use; // newest task that names this buffer with this storage
  uint64_t named;    // number of the check that met it last; see weir__check_args
  uint16_t valid; // bit per space: the contents are there, or will be when transfers in flight are done; if there are
                  // `parts`: some contents are. 0: they are undefined
  uint16_t held;  // bit per space with a block
  uint8_t home;   // space of wrapped memory
  bool wrapped : 1;
  bool scratch : 1; // scratch memory of one task (engine/scratch.h)
  bool guarded : 1; // `may_read` is asked before the caller reads by a copy, and a library releases it
  bool adopted : 1; // of a graph that was adopted, and of nobody else (graph/adopt.h): wrapped
  bool image : 1;   // of the device whose space is its home, to which it belongs: wrapped, and always accessed whole
  union {
    struct {
      bool ranged;   // `map` or `boxes` is in use, else `whole`
      bool reducing; // tasks add to copies of some of its bytes (engine/reduce.h)
    };
    uint16_t by_ranges; // not 0: either of these
  };
  alignas(64) weir__segment whole;
  weir__validity *parts; // what is valid where; NULL: the same everywhere
  uint32_t serial;       // changes when the contents start anew, and when the struct is used for another buffer
  bool boxed;            // `boxes` is in use
  bool kept; // storage stays behind it: it is not renamed, and replicas keep their blocks when others are written
  uint64_t id;
  uint32_t queued;              // submissions that name it and wait in the context's queue (engine/queue.h)
  bool gone;                    // its owner has released it meanwhile
  uint64_t run;                 // that named it last, recorded (repeats/run.h) or followed, and there
  uint32_t run_place, run_task; // its number, and the last task that names it
  char label[48];
  uint32_t oldest_version;
  // Space of the device that wanted what was copied into the buffer: the last one to which that was brought from where the copy
  // had put it, or else where the first copy of all put it. WEIR__HOST_SPACE: none.
  uint8_t brought;
  weir__id copied_in;   // the last copy into it that a device made
  weir__id copied_home; // the last of the transfers that made a replica give way (engine/evict.h); 0: none
  weir__id used_before; // the newest task that named the buffer before them
  weir__reuse reuse;
  struct weir__written *written;     // what tasks wrote, in check mode (engine/written.h); NULL: nothing. Owned
  struct weir__commuters *commuters; // tasks in flight that commute (window/commuters.h); NULL: there were none. Owned
  struct weir__trail *trail;         // where ThreadSanitizer watches: who used it (window/trail.h). Owned
  // If it is guarded (weir_buffer_set_may_read).
  weir_status (*may_read)(void *user, uint64_t offset, uint64_t bytes);
  void *may_read_user;
  weir__version *versions; // that it gave up last, a ring (engine/rename.h); NULL: it was not renamed yet. Owned
  alignas(64) weir__replica replicas[WEIR__MAX_SPACES];
  weir__range_map map;
  weir__box_map boxes;
};

static_assert(offsetof(weir_buffer, id) == 2 * 64, "what comes before fills two lines of the cache");

// Asks for these lines of a buffer, and that of its replica on the host; it may be no buffer. `later`: of the one that
// was made so many buffers later, if it is in the same array.
static inline __attribute__((always_inline)) void weir__buffer_fetch(const weir_buffer *buffer, uintptr_t later) {
  uintptr_t at = (uintptr_t)buffer + later * sizeof *buffer;
  __builtin_prefetch((const void *)at);
  __builtin_prefetch((const void *)(at + offsetof(weir_buffer, whole)));
  __builtin_prefetch((const void *)(at + offsetof(weir_buffer, replicas)));
}

// Whether there is no storage behind the buffer, and nothing is known of its contents.
static inline bool weir__buffer_is_bare(const weir_buffer *buffer) {
  return ((buffer->valid | buffer->held) == 0) & !buffer->wrapped;
}

// The newest task that used the buffer for its own sake.
static inline weir__id weir__buffer_recency(const weir_buffer *buffer) {
  return buffer->copied_home != 0 && buffer->last_use == buffer->copied_home ? buffer->used_before : buffer->last_use;
}

static inline uint16_t weir__space_bit(uint32_t space) {
  return (uint16_t)(1u << space);
}

// The general case of weir__buffer_access.
void weir__buffer_access_range(weir_buffer *buffer, weir__range_pool *pool, const weir__liveness *liveness,
                               weir__id task, weir_mode mode, uint64_t lo, uint64_t hi, weir__dependences *dependences);

// A submission that uses boxes, or ranges of buffers that are used by boxes, is prepared in three steps, in place of a reserve of
// accesses: weir__box_pool_begin; the first function below for each box; the second one for each access. It makes all that
// the access of [lo, hi), or of a box from `lo` on, needs. False: no memory, and nothing that matters has changed.
bool weir__buffer_use_boxes(weir_buffer *buffer, weir__range_pool *pool, const weir__liveness *liveness,
                            const weir_box *box);
bool weir__buffer_prepare(weir_buffer *buffer, const weir__liveness *liveness, weir_mode mode, uint64_t lo, uint64_t hi,
                          const weir_box *box);

// The same as weir__buffer_access for a box, which was prepared; `hi` is the end of its last byte.
void weir__buffer_access_box(weir_buffer *buffer, const weir__liveness *liveness, weir__id task, weir_mode mode,
                             uint64_t lo, uint64_t hi, const weir_box *box, weir__dependences *dependences);

// As weir__buffer_access, for COMMUTE. In a buffer that is used by boxes that is as good as READ_WRITE.
void weir__buffer_commute(weir_buffer *buffer, weir__range_pool *pool, const weir__liveness *liveness, weir__id task,
                          uint64_t lo, uint64_t hi, weir__dependences *dependences);

// Records the access of `task`, which is not COMMUTE, to [lo, hi) and collects predecessors. A range that is not the whole buffer needs a reserve
// of one access in `pool`; if the buffer is used by boxes, any range needs to be prepared.
static inline void weir__buffer_access(weir_buffer *buffer, weir__range_pool *pool, const weir__liveness *liveness,
                                       weir__id task, weir_mode mode, uint64_t lo, uint64_t hi,
                                       weir__dependences *dependences) {
  buffer->last_use = task;
  if (buffer->ranged || lo != 0 || hi != buffer->bytes)
    weir__buffer_access_range(buffer, pool, liveness, task, mode, lo, hi, dependences);
  else if (mode == WEIR_READ)
    weir__segment_read(&buffer->whole, liveness, task, lo, hi, dependences);
  else
    weir__segment_write(&buffer->whole, liveness, task, mode == WEIR_READ_WRITE, lo, hi, dependences);
}

// Whether no task in flight uses the buffer's storage.
bool weir__buffer_idle(weir_buffer *buffer, const weir__liveness *liveness);

// Poisons what is by `task` in [lo, hi), or in the box there: it was the last to write, or one of the last that commuted.
// Where memory is short, perhaps more of it is.
// `failure`: the number of the failure, not 0.
void weir__buffer_poison(weir_buffer *buffer, weir__range_pool *pool, weir__id task, uint64_t lo, uint64_t hi,
                         uint32_t failure);
void weir__buffer_poison_box(weir_buffer *buffer, weir__range_pool *pool, weir__id task, uint64_t lo, uint64_t hi,
                             const weir_box *box, uint32_t failure);

// Forgets all users.
void weir__buffer_forget_users(weir_buffer *buffer);

// Calls `visit` for the users of each stretch of [lo, hi), in order; if the buffer is used by boxes, for all users of some
// byte in it, in any order and with ranges that have more bytes than these.
typedef void (*weir__segment_visit)(void *user, uint64_t lo, uint64_t hi, weir__segment *segment);
void weir__buffer_visit(weir_buffer *buffer, uint64_t lo, uint64_t hi, weir__segment_visit visit, void *user);

// The spaces that have the byte `at`, and those behind it up to `*out_end`.
static inline uint16_t weir__buffer_spaces(const weir_buffer *buffer, uint64_t at, uint64_t *out_end) {
  if (buffer->parts == NULL) {
    *out_end = buffer->bytes;
    return buffer->valid;
  }
  uint32_t index = weir__validity_find(buffer->parts, at);
  *out_end = weir__validity_end(buffer->parts, index);
  return buffer->parts->spaces[index];
}

// The spaces that have all of [lo, hi).
uint16_t weir__buffer_common_spaces(const weir_buffer *buffer, uint64_t lo, uint64_t hi);

// Changes what is valid, as weir__validity_change does; contents that were undefined are those of `add` then. Takes at most
// one validity from `pool`. False: there is none, or there would be too many parts, and nothing has changed.
bool weir__buffer_change_valid(weir_buffer *buffer, weir__validity_pool *pool, uint64_t lo, uint64_t hi, uint16_t keep,
                               uint16_t add);

// Notes on a block that its buffer gives up which tasks may still use it. What is copied beyond the readers does not
// count. The buffer is not used by ranges, and no task commutes on it.
static inline void weir__buffer_note_users(const weir_buffer *buffer, weir__block *block) {
  const weir__segment *users = &buffer->whole;
  uint32_t count = users->reader_count;
  block->last_use = buffer->last_use;
  block->users_known = count < WEIR__BLOCK_USERS;
  block->user_count = 0;
  if (!block->users_known) return;
  static_assert((int)WEIR__BLOCK_USERS > (int)WEIR__SEGMENT_INLINE_READERS, "those in the segment, and its writer");
  static_assert((int)WEIR__ID_ARRAY_SMALLEST >= (int)WEIR__BLOCK_USERS, "an array of readers has as many");
  const weir__id *readers = weir__segment_readers(users);
  for (int i = 0; i < WEIR__SEGMENT_INLINE_READERS; i++) block->users[i] = readers[i];
  if (users->reader_capacity > WEIR__SEGMENT_INLINE_READERS) {
    for (int i = WEIR__SEGMENT_INLINE_READERS; i < WEIR__BLOCK_USERS; i++) block->users[i] = readers[i];
  }
  block->users[count] = users->writer;
  block->user_count = (uint8_t)(count + 1);
}

// Gives up the block in one space, which the buffer must have there: it goes to the space's pool, at once if the buffer is
// `idle`, or else when its users are done.
void weir__buffer_drop_place(weir_buffer *buffer, uint32_t space, weir__pool *pool, bool idle);

// Gives up the storage in all spaces (`pools`, by space) and forgets its users.
void weir__buffer_drop_storage(weir_buffer *buffer, weir__pool *pools, bool idle);

// Gives up the block in `space`, which is in use, for another one of its class that nobody uses, and forgets the
// buffer's users. The buffer is not used by ranges, and has no other storage. False: there is none that is easily
// found, and nothing has changed.
bool weir__buffer_exchange_storage(weir_buffer *buffer, uint32_t space, weir__pool *pool,
                                   const weir__liveness *liveness);

// Puts `block` behind a buffer without storage in `space`.
static inline void weir__buffer_set_storage(weir_buffer *buffer, uint32_t space, weir__block *block) {
  buffer->replicas[space] = (weir__replica){.block = block, .memory = block->memory, .storage = block->number};
  buffer->held |= weir__space_bit(space);
}

#endif // WEIR_WINDOW_BUFFER_H
