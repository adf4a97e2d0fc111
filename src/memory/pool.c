// SPDX-License-Identifier: Apache-2.0
#include "memory/pool.h"

#include "base/allocate.h"
#include "base/tsan.h"

enum { SMALLEST_LOG2 = 6, SLAB_BLOCKS = 64, WAITING_LOOKED_AT = 4, GROWTH_LOG2 = 3 };

struct weir__block_slab {
  struct weir__block_slab *next;
  weir__block blocks[SLAB_BLOCKS];
};

// Class of a size: four classes per power of two from 64 bytes on. `*out_bytes` is the size of its blocks.
static uint8_t class_of(uint64_t bytes, uint64_t *out_bytes) {
  if (bytes <= 64) {
    *out_bytes = 64;
    return 0;
  }
  uint32_t log2 = 63 - (uint32_t)__builtin_clzll(bytes - 1); // 2^log2 < bytes <= 2^(log2 + 1)
  uint32_t step_log2 = log2 - 2;
  uint64_t power = (uint64_t)1 << log2, most = ((uint64_t)1 << step_log2) - 1;
  uint64_t steps = (bytes - power + most) >> step_log2; // 1 to 4
  *out_bytes = power + (steps << step_log2);
  return (uint8_t)((log2 - SMALLEST_LOG2) * 4 + steps);
}

static void *heap_allocate(void *user, uint64_t bytes) {
  (void)user;
  return weir__allocate(bytes);
}

static void heap_free(void *user, void *memory) {
  (void)user;
  weir__free(memory);
}

const weir__memory_source weir__heap = {.allocate = heap_allocate, .free = heap_free};

void weir__pool_initialize(weir__pool *pool, const weir__memory_source *source, uint64_t limit, uint64_t first_number) {
  *pool = (weir__pool){.source = *source,
                       .limit = limit,
                       .waiting_limit = UINT64_MAX,
                       .next_number = first_number,
                       .next_look = WEIR__POOL_KEPT};
}

static weir__block *take_descriptor(weir__pool *pool) {
  if (pool->spare == NULL) {
    struct weir__block_slab *slab = weir__allocate_zeroed(sizeof *slab);
    if (slab == NULL) return NULL;
    slab->next = pool->slabs;
    pool->slabs = slab;
    for (int i = 0; i < SLAB_BLOCKS; i++) {
      slab->blocks[i].next = pool->spare;
      pool->spare = &slab->blocks[i];
    }
  }
  weir__block *block = pool->spare;
  pool->spare = block->next;
  return block;
}

static void forget_users(weir__block *block) {
  weir__sync_drop(block->users_sync);
  block->users_sync = NULL;
}

static void free_memory(weir__pool *pool, weir__block *block) {
  if (block->users_sync != NULL) forget_users(block);
  pool->bytes -= block->bytes;
  pool->source.free(pool->source.user, block->memory);
  block->memory = NULL;
  block->next = pool->spare;
  pool->spare = block;
}

void weir__pool_deinitialize(weir__pool *pool) {
  while (pool->slabs != NULL) {
    struct weir__block_slab *slab = pool->slabs;
    pool->slabs = slab->next;
    for (int i = 0; i < SLAB_BLOCKS; i++) {
      if (slab->blocks[i].memory != NULL && !slab->blocks[i].left)
        pool->source.free(pool->source.user, slab->blocks[i].memory);
      if (slab->blocks[i].users_sync != NULL) forget_users(&slab->blocks[i]);
    }
    weir__free(slab);
  }
  *pool = (weir__pool){0};
}

bool weir__block_in_use(weir__block *block, const weir__liveness *liveness) {
  if (block->last_use < liveness->oldest) {
    block->user_count = 0;
    return false;
  }
  if (!block->users_known) return true;
  uint8_t kept = 0;
  for (uint8_t i = 0; i < block->user_count; i++) {
    if (weir__live(liveness, block->users[i])) block->users[kept++] = block->users[i];
  }
  block->user_count = kept;
  return kept > 0;
}

// Takes a block out of the list that it is in.
static void unlink(weir__pool *pool, weir__block *block) {
  uint8_t size_class = block->size_class;
  bool waits = block->state == WEIR__BLOCK_WAITING;
  if (block->previous != NULL)
    block->previous->next = block->next;
  else if (waits)
    pool->waiting[size_class] = block->next;
  else
    pool->free[size_class] = block->next;
  if (block->next != NULL)
    block->next->previous = block->previous;
  else if (waits)
    pool->last_waiting[size_class] = block->previous;
  *(waits ? &pool->waiting_bytes : &pool->free_bytes) -= block->bytes;
  block->next = block->previous = NULL;
  block->state = WEIR__BLOCK_HANDED_OUT;
}

static weir__block *take_done(weir__pool *pool, uint8_t size_class, uint32_t look_at, const weir__liveness *liveness) {
  weir__block *block = pool->waiting[size_class];
  for (uint32_t looked = 0; block != NULL && looked < look_at; looked++) {
    if (!weir__block_in_use(block, liveness)) {
      unlink(pool, block);
      return block;
    }
    block = block->next;
  }
  return NULL;
}

bool weir__pool_take_block(weir__pool *pool, weir__block *block, uint64_t number, uint64_t bytes,
                           const weir__liveness *liveness) {
  uint64_t block_bytes;
  if (block->memory == NULL || block->number != number || block->state == WEIR__BLOCK_HANDED_OUT ||
      block->size_class != class_of(bytes, &block_bytes) ||
      (block->state == WEIR__BLOCK_WAITING && weir__block_in_use(block, liveness)))
    return false;
  unlink(pool, block);
  block->user_count = 0;
  return true;
}

// A block that was allocated before and that nobody uses; NULL: there is none.
static weir__block *take_idle(weir__pool *pool, uint8_t size_class, uint32_t look_at, const weir__liveness *liveness) {
  weir__block *block = pool->free[size_class];
  if (block == NULL) return take_done(pool, size_class, look_at, liveness);
  unlink(pool, block);
  return block;
}

void weir__pool_give(weir__pool *pool, weir__block *block) {
  weir__block *first = pool->free[block->size_class];
  if (block->left) return;
  block->state = WEIR__BLOCK_FREE;
  block->previous = NULL;
  block->next = first;
  if (first != NULL) first->previous = block;
  pool->free[block->size_class] = block;
  pool->free_bytes += block->bytes;
}

// Lets blocks of a class that wait for nobody any more be free.
static void settle(weir__pool *pool, uint32_t size_class, const weir__liveness *liveness) {
  for (weir__block *block = pool->waiting[size_class], *next; block != NULL; block = next) {
    next = block->next;
    if (weir__block_in_use(block, liveness)) continue;
    unlink(pool, block);
    weir__pool_give(pool, block);
  }
}

static void free_first(weir__pool *pool, uint32_t size_class) {
  weir__block *block = pool->free[size_class];
  unlink(pool, block);
  free_memory(pool, block);
}

void weir__pool_trim(weir__pool *pool, uint64_t bytes, const weir__liveness *liveness) {
  for (uint32_t i = WEIR__POOL_CLASSES; i-- > 0 && pool->bytes > bytes;) {
    settle(pool, i, liveness);
    while (pool->free[i] != NULL && pool->bytes > bytes) free_first(pool, i);
  }
}

// Frees idle blocks that are too many, class by class from where it stopped last: a class that is used again and again
// must not be the first one each time.
static void free_surplus(weir__pool *pool, const weir__liveness *liveness) {
  if (pool->source.allocate != heap_allocate || pool->bytes < pool->next_look) return;
  for (uint32_t i = 0; i < WEIR__POOL_CLASSES; i++) settle(pool, i, liveness);
  uint64_t used = pool->bytes - pool->free_bytes;
  if (used > pool->most_used) pool->most_used = used;
  uint64_t kept = pool->most_used > WEIR__POOL_KEPT ? pool->most_used : WEIR__POOL_KEPT;
  for (uint32_t i = 0; i < WEIR__POOL_CLASSES && pool->free_bytes > kept; i++) {
    while (pool->free[pool->hand] != NULL && pool->free_bytes > kept) free_first(pool, pool->hand);
    if (pool->free_bytes > kept) pool->hand = (uint8_t)(pool->hand - 1);
  }
  pool->next_look = pool->bytes + (pool->bytes >> GROWTH_LOG2);
}

weir__pool_result weir__pool_take(weir__pool *pool, uint64_t bytes, const weir__liveness *liveness,
                                  weir__block **out_block) {
  *out_block = NULL;
  if (bytes > (uint64_t)1 << 62) return WEIR__POOL_NO_MEMORY;
  uint64_t block_bytes;
  uint8_t size_class = class_of(bytes, &block_bytes);
  weir__block *block = take_idle(pool, size_class, WAITING_LOOKED_AT, liveness);
  if (block == NULL) {
    free_surplus(pool, liveness);
    if (block_bytes > pool->limit || pool->bytes > pool->limit - block_bytes) {
      weir__pool_trim(pool, block_bytes > pool->limit ? 0 : pool->limit - block_bytes, liveness);
      if (block_bytes > pool->limit || pool->bytes > pool->limit - block_bytes) return WEIR__POOL_LIMIT;
    }
    block = take_descriptor(pool);
    if (block == NULL) return WEIR__POOL_NO_MEMORY;
    block->memory = pool->source.allocate(pool->source.user, block_bytes);
    if (block->memory == NULL) { // idle blocks of other sizes make room
      uint64_t before = pool->bytes;
      weir__pool_trim(pool, 0, liveness);
      if (pool->bytes < before) block->memory = pool->source.allocate(pool->source.user, block_bytes);
    }
    if (block->memory == NULL) {
      block->next = pool->spare;
      pool->spare = block;
      return WEIR__POOL_NO_MEMORY;
    }
    block->bytes = block_bytes;
    block->size_class = size_class;
    block->from_heap = pool->source.allocate == heap_allocate;
    block->number = pool->next_number++;
    pool->bytes += block_bytes;
    if (pool->bytes > pool->peak_bytes) pool->peak_bytes = pool->bytes;
    block->next = block->previous = NULL;
    block->state = WEIR__BLOCK_HANDED_OUT;
  }
  block->user_count = 0;
  *out_block = block;
  return WEIR__POOL_OK;
}

weir__block *weir__pool_take_waiting(weir__pool *pool, uint64_t bytes, const weir__liveness *liveness) {
  uint64_t block_bytes;
  uint8_t size_class = class_of(bytes, &block_bytes);
  for (weir__block *block = pool->waiting[size_class]; block != NULL; block = block->next) {
    if (!block->users_known) continue;
    (void)weir__block_in_use(block, liveness);
    unlink(pool, block);
    return block;
  }
  return NULL;
}

weir__block *weir__pool_take_idle(weir__pool *pool, uint64_t bytes, bool search, const weir__liveness *liveness) {
  uint64_t block_bytes;
  uint32_t look_at = search ? UINT32_MAX : WAITING_LOOKED_AT;
  weir__block *block = take_idle(pool, class_of(bytes, &block_bytes), look_at, liveness);
  if (block != NULL) block->user_count = 0;
  return block;
}

bool weir__pool_take_used(weir__pool *pool, weir__block *block, uint64_t bytes) {
  if (block->left || !block->users_known || block->bytes < bytes) return false;
  unlink(pool, block);
  return true;
}

void weir__pool_give_waiting(weir__pool *pool, weir__block *block) {
  uint8_t size_class = block->size_class;
  weir__block *last = pool->last_waiting[size_class];
  if (block->left) return;
  block->state = WEIR__BLOCK_WAITING;
  block->next = NULL;
  block->previous = last;
  if (last == NULL)
    pool->waiting[size_class] = block;
  else
    last->next = block;
  pool->last_waiting[size_class] = block;
  pool->waiting_bytes += block->bytes;
}

static bool has_address(const weir__block *block, const void *address) {
  uintptr_t first = (uintptr_t)block->memory, at = (uintptr_t)address;
  return first != 0 && at >= first && at < first + block->bytes;
}

void weir__pool_leave(weir__pool *pool, const void *address) {
  for (struct weir__block_slab *slab = pool->slabs; slab != NULL; slab = slab->next) {
    for (int i = 0; i < SLAB_BLOCKS; i++) {
      weir__block *block = &slab->blocks[i];
      if (block->left || !has_address(block, address)) continue;
      if (block->state != WEIR__BLOCK_HANDED_OUT) unlink(pool, block);
      block->left = true;
      if (pool->source.leave != NULL) pool->source.leave(pool->source.user);
      return;
    }
  }
}

weir__block *weir__pool_exchange_slow(weir__pool *pool, weir__block *used, const weir__liveness *liveness) {
  weir__block *block = take_idle(pool, used->size_class, WAITING_LOOKED_AT, liveness);
  if (block == NULL) return NULL;
  block->user_count = 0;
  weir__pool_give_waiting(pool, used);
  return block;
}
