// SPDX-License-Identifier: Apache-2.0
//
// Storage for buffers: blocks of memory in size classes, reused as soon as their last users are done.
//
// A block that its buffer gives up while tasks still use it waits in a queue of its class with the id of its last user
// (and all of its users, when they are few). A new buffer version takes, in this order: a free block; a waiting block
// whose users are done by now; new memory below the limit. The caller may then fall back to a waiting block at the
// price of waiting for its users. Size classes have four steps per power of two, so at most a fifth of a block is waste.
//
// The memory itself comes from a source: the process's heap, or a device. Idle blocks go back to the heap when others
// are allocated and they have more bytes together than were ever in use, or than WEIR__POOL_KEPT. So a program whose
// sizes change as it goes on holds about twice of what it needs at most. To look at all blocks for this costs time: it
// is done when the pool has grown by an eighth. Memory of devices is kept, since freeing it can wait for all that they
// do.
//
// Not thread-safe: the context's lock guards it.
#ifndef WEIR_MEMORY_POOL_H
#define WEIR_MEMORY_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/liveness.h"

enum { WEIR__POOL_CLASSES = 256, WEIR__BLOCK_USERS = 6, WEIR__POOL_KEPT = 64 << 20, WEIR__POOL_SMALLEST_LOG2 = 6 };

typedef struct weir__block {
  void *memory;
  uint64_t bytes;
  uint64_t number;                     // grows; names the block in timelines
  struct weir__block *next, *previous; // in the list that it is in
  enum { WEIR__BLOCK_HANDED_OUT, WEIR__BLOCK_FREE, WEIR__BLOCK_WAITING } state;
  weir__id last_use; // newest user
  weir__id users[WEIR__BLOCK_USERS];
  uint8_t user_count;
  bool users_known; // `users` holds all that were in flight
  bool from_heap;   // the process's
  bool left;        // work outside may use it for ever (weir__pool_leave)
  uint8_t size_class;
  struct weir__sync *users_sync; // where ThreadSanitizer watches: the ends of its latest users (window/trail.h)
} weir__block;

// Where a pool takes memory from: aligned to 64 bytes at least.
typedef struct weir__memory_source {
  void *(*allocate)(void *user, uint64_t bytes); // NULL: there is none
  void (*free)(void *user, void *memory);
  void *user;
  void (*leave)(void *user); // some memory must never be returned, nor what it was cut from; NULL: that takes nothing
} weir__memory_source;

// The process's heap.
extern const weir__memory_source weir__heap;

typedef struct weir__pool {
  weir__memory_source source;
  weir__block *free[WEIR__POOL_CLASSES];
  weir__block *waiting[WEIR__POOL_CLASSES], *last_waiting[WEIR__POOL_CLASSES];
  weir__block *spare; // descriptors without memory
  struct weir__block_slab *slabs;
  uint64_t limit; // bytes; UINT64_MAX: none
  uint64_t bytes, peak_bytes, next_number;
  uint64_t waiting_limit; // bytes that may wait before an overwritten buffer gets new memory; UINT64_MAX: no limit
  uint64_t free_bytes;    // of idle blocks that were given back
  uint64_t waiting_bytes; // of blocks that were given back with users in flight, and were not taken again
  uint64_t most_used;     // bytes of blocks that were not idle, the most that was seen
  uint64_t next_look;     // bytes of the pool at which idle blocks are looked for again
  uint8_t hand;           // class whose idle blocks went to the heap last
  // Where memory is short: asks who keeps blocks for later to give them back. False: nobody keeps any. NULL: nobody ever does.
  bool (*recall)(void *user, struct weir__pool *pool);
  void *recall_user;
} weir__pool;

// `first_number`: of the first block.
void weir__pool_initialize(weir__pool *pool, const weir__memory_source *source, uint64_t limit, uint64_t first_number);

// Frees all memory but what is left for ever. Blocks that are still handed out become invalid.
void weir__pool_deinitialize(weir__pool *pool);

typedef enum weir__pool_result {
  WEIR__POOL_OK,
  WEIR__POOL_LIMIT,     // only above the limit
  WEIR__POOL_NO_MEMORY, // the system has none
} weir__pool_result;

// Class of a size: four classes per power of two from 64 bytes on. `*out_bytes` is the size of its blocks.
static inline uint8_t weir__pool_class(uint64_t bytes, uint64_t *out_bytes) {
  if (bytes <= 64) {
    *out_bytes = 64;
    return 0;
  }
  uint32_t log2 = 63 - (uint32_t)__builtin_clzll(bytes - 1); // 2^log2 < bytes <= 2^(log2 + 1)
  uint32_t step_log2 = log2 - 2;
  uint64_t power = (uint64_t)1 << log2, most = ((uint64_t)1 << step_log2) - 1;
  uint64_t steps = (bytes - power + most) >> step_log2; // 1 to 4
  *out_bytes = power + (steps << step_log2);
  return (uint8_t)((log2 - WEIR__POOL_SMALLEST_LOG2) * 4 + steps);
}

// The rare case of weir__block_in_use: some of its users, all of which are known, may be in flight.
bool weir__block_keeps_users(weir__block *block, const weir__liveness *liveness);

// Whether tasks in flight use a block that waits. Forgets users that are done.
static inline bool weir__block_in_use(weir__block *block, const weir__liveness *liveness) {
  if (block->last_use < liveness->oldest) {
    block->user_count = 0;
    return false;
  }
  return !block->users_known || weir__block_keeps_users(block, liveness);
}

// Takes a block out of the list that it is in.
static inline void weir__pool_unlink(weir__pool *pool, weir__block *block) {
  uint8_t size_class = block->size_class;
  bool waits = block->state == WEIR__BLOCK_WAITING;
  weir__block *before = block->previous, *behind = block->next;
  *(before != NULL ? &before->next : waits ? &pool->waiting[size_class] : &pool->free[size_class]) = behind;
  if (behind != NULL)
    behind->previous = before;
  else if (waits)
    pool->last_waiting[size_class] = before;
  *(waits ? &pool->waiting_bytes : &pool->free_bytes) -= block->bytes;
  block->next = block->previous = NULL;
  block->state = WEIR__BLOCK_HANDED_OUT;
}

// The rare cases of weir__pool_take.
weir__pool_result weir__pool_take_slow(weir__pool *pool, uint64_t bytes, const weir__liveness *liveness,
                                       weir__block **out_block);

// Takes a block of at least `bytes` bytes that nobody uses.
static inline weir__pool_result weir__pool_take(weir__pool *pool, uint64_t bytes, const weir__liveness *liveness,
                                                weir__block **out_block) {
  if (bytes > (uint64_t)1 << 62) return weir__pool_take_slow(pool, bytes, liveness, out_block);
  uint64_t block_bytes;
  uint8_t size_class = weir__pool_class(bytes, &block_bytes);
  weir__block *block = pool->free[size_class];
  if (block == NULL) block = pool->waiting[size_class];
  if (block == NULL || (block->state == WEIR__BLOCK_WAITING && block->last_use >= liveness->oldest))
    return weir__pool_take_slow(pool, bytes, liveness, out_block);
  weir__pool_unlink(pool, block);
  block->user_count = 0;
  *out_block = block;
  return WEIR__POOL_OK;
}

// Takes just this block, once a block of the pool with this number, if nobody uses it. False: it cannot be had.
static inline bool weir__pool_take_known(weir__pool *pool, weir__block *block, uint64_t number,
                                         const weir__liveness *liveness) {
  if (block->memory == NULL || block->number != number || block->state == WEIR__BLOCK_HANDED_OUT ||
      (block->state == WEIR__BLOCK_WAITING && weir__block_in_use(block, liveness)))
    return false;
  weir__pool_unlink(pool, block);
  block->user_count = 0;
  return true;
}

// The same, if it is large enough for `bytes` but in the same class.
bool weir__pool_take_block(weir__pool *pool, weir__block *block, uint64_t number, uint64_t bytes,
                           const weir__liveness *liveness);

// Takes a waiting block of at least `bytes` bytes whose users are all known, so that the caller can wait for them; NULL:
// there is none. The users that are done are dropped from its list.
weir__block *weir__pool_take_waiting(weir__pool *pool, uint64_t bytes, const weir__liveness *liveness);

// Takes a block that was allocated before and that nobody uses; NULL: there is none, or, unless all are to be `search`ed, none
// that is easily found.
weir__block *weir__pool_take_idle(weir__pool *pool, uint64_t bytes, bool search, const weir__liveness *liveness);

// Takes a block that waits and is in use, so that the caller can wait for its users. False: not all of them are known, or it is
// too small for `bytes`.
bool weir__pool_take_used(weir__pool *pool, weir__block *block, uint64_t bytes);

// Gives a block back: idle, or with users in flight (last_use and users are set).
static inline void weir__pool_give(weir__pool *pool, weir__block *block) {
  weir__block *first = pool->free[block->size_class];
  if (block->left) return;
  block->state = WEIR__BLOCK_FREE;
  block->previous = NULL;
  block->next = first;
  if (first != NULL) first->previous = block;
  pool->free[block->size_class] = block;
  pool->free_bytes += block->bytes;
}

static inline void weir__pool_give_waiting(weir__pool *pool, weir__block *block) {
  uint8_t size_class = block->size_class;
  weir__block *last = pool->last_waiting[size_class];
  if (block->left) return;
  block->state = WEIR__BLOCK_WAITING;
  block->next = NULL;
  block->previous = last;
  *(last == NULL ? &pool->waiting[size_class] : &last->next) = block;
  pool->last_waiting[size_class] = block;
  pool->waiting_bytes += block->bytes;
}

// The block that has this address, if the pool has it, is neither handed out again nor freed, also not by
// weir__pool_deinitialize. Who has it may keep it, and gives it back as ever.
void weir__pool_leave(weir__pool *pool, const void *address);

// The rare cases of weir__pool_exchange.
weir__block *weir__pool_exchange_slow(weir__pool *pool, weir__block *used, const weir__liveness *liveness);

// Gives back a block with users in flight, as above, and takes one of its class that nobody uses in its place. NULL:
// there is none that is easily found, and `used` is not given back.
static inline weir__block *weir__pool_exchange(weir__pool *pool, weir__block *used, const weir__liveness *liveness) {
  uint8_t size_class = used->size_class;
  weir__block *first = pool->waiting[size_class], *last = pool->last_waiting[size_class];
  if (used->left || pool->free[size_class] != NULL || first == last || first->last_use >= liveness->oldest)
    return weir__pool_exchange_slow(pool, used, liveness);
  // The first in the queue goes and another one comes: all else stays.
  pool->waiting[size_class] = first->next;
  first->next->previous = NULL;
  first->next = NULL;
  first->state = WEIR__BLOCK_HANDED_OUT;
  first->user_count = 0;
  last->next = used;
  used->next = NULL;
  used->previous = last;
  used->state = WEIR__BLOCK_WAITING;
  pool->last_waiting[size_class] = used;
  return first;
}

// Returns idle memory to the system, until at most `bytes` are held or nothing idle is left.
void weir__pool_trim(weir__pool *pool, uint64_t bytes, const weir__liveness *liveness);

#endif // WEIR_MEMORY_POOL_H
