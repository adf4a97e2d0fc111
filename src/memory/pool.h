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

enum { WEIR__POOL_CLASSES = 256, WEIR__BLOCK_USERS = 6, WEIR__POOL_KEPT = 64 << 20 };

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

// Takes a block of at least `bytes` bytes that nobody uses.
weir__pool_result weir__pool_take(weir__pool *pool, uint64_t bytes, const weir__liveness *liveness,
                                  weir__block **out_block);

// Takes just this block, once a block of the pool with this number, if it is large enough for `bytes` but in the same class,
// and nobody uses it. False: it cannot be had.
bool weir__pool_take_block(weir__pool *pool, weir__block *block, uint64_t number, uint64_t bytes,
                           const weir__liveness *liveness);

// Takes a waiting block of at least `bytes` bytes whose users are all known, so that the caller can wait for them; NULL:
// there is none. The users that are done are dropped from its list.
weir__block *weir__pool_take_waiting(weir__pool *pool, uint64_t bytes, const weir__liveness *liveness);

// Takes a block that was allocated before and that nobody uses; NULL: there is none, or, unless all are to be `search`ed, none
// that is easily found.
weir__block *weir__pool_take_idle(weir__pool *pool, uint64_t bytes, bool search, const weir__liveness *liveness);

// Whether tasks in flight use a block that waits. Forgets users that are done.
bool weir__block_in_use(weir__block *block, const weir__liveness *liveness);

// Takes a block that waits and is in use, so that the caller can wait for its users. False: not all of them are known, or it is
// too small for `bytes`.
bool weir__pool_take_used(weir__pool *pool, weir__block *block, uint64_t bytes);

// Gives a block back: idle, or with users in flight (last_use and users are set).
void weir__pool_give(weir__pool *pool, weir__block *block);
void weir__pool_give_waiting(weir__pool *pool, weir__block *block);

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
