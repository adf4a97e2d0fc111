// SPDX-License-Identifier: Apache-2.0
#include "memory/pool.h"

#include "base/allocate.h"
#include "base/tsan.h"

enum { SLAB_BLOCKS = 64, WAITING_LOOKED_AT = 4, GROWTH_LOG2 = 3 };

struct weir__block_slab {
  struct weir__block_slab *next;
  weir__block blocks[SLAB_BLOCKS];
};

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

bool weir__block_keeps_users(weir__block *block, const weir__liveness *liveness) {
  uint8_t kept = 0;
  for (uint8_t i = 0; i < block->user_count; i++) {
    if (weir__live(liveness, block->users[i])) block->users[kept++] = block->users[i];
  }
  block->user_count = kept;
  return kept > 0;
}

static weir__block *take_done(weir__pool *pool, uint8_t size_class, uint32_t look_at, const weir__liveness *liveness) {
  weir__block *block = pool->waiting[size_class];
  for (uint32_t looked = 0; block != NULL && looked < look_at; looked++) {
    if (!weir__block_in_use(block, liveness)) {
      weir__pool_unlink(pool, block);
      return block;
    }
    block = block->next;
  }
  return NULL;
}

bool weir__pool_take_block(weir__pool *pool, weir__block *block, uint64_t number, uint64_t bytes,
                           const weir__liveness *liveness) {
  uint64_t block_bytes;
  return block->size_class == weir__pool_class(bytes, &block_bytes) &&
         weir__pool_take_known(pool, block, number, liveness);
}

// A block that was allocated before and that nobody uses; NULL: there is none.
static weir__block *take_idle(weir__pool *pool, uint8_t size_class, uint32_t look_at, const weir__liveness *liveness) {
  weir__block *block = pool->free[size_class];
  if (block == NULL) return take_done(pool, size_class, look_at, liveness);
  weir__pool_unlink(pool, block);
  return block;
}

// Lets blocks of a class that wait for nobody any more be free.
static void settle(weir__pool *pool, uint32_t size_class, const weir__liveness *liveness) {
  for (weir__block *block = pool->waiting[size_class], *next; block != NULL; block = next) {
    next = block->next;
    if (weir__block_in_use(block, liveness)) continue;
    weir__pool_unlink(pool, block);
    weir__pool_give(pool, block);
  }
}

static void free_first(weir__pool *pool, uint32_t size_class) {
  weir__block *block = pool->free[size_class];
  weir__pool_unlink(pool, block);
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

static weir__pool_result take_slow(weir__pool *pool, uint64_t bytes, const weir__liveness *liveness,
                                   weir__block **out_block) {
  *out_block = NULL;
  if (bytes > (uint64_t)1 << 62) return WEIR__POOL_NO_MEMORY;
  uint64_t block_bytes;
  uint8_t size_class = weir__pool_class(bytes, &block_bytes);
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

weir__pool_result weir__pool_take_slow(weir__pool *pool, uint64_t bytes, const weir__liveness *liveness,
                                       weir__block **out_block) {
  weir__pool_result result = take_slow(pool, bytes, liveness, out_block);
  if (result == WEIR__POOL_OK || pool->recall == NULL || !pool->recall(pool->recall_user, pool)) return result;
  return take_slow(pool, bytes, liveness, out_block);
}

weir__block *weir__pool_take_waiting(weir__pool *pool, uint64_t bytes, const weir__liveness *liveness) {
  uint64_t block_bytes;
  uint8_t size_class = weir__pool_class(bytes, &block_bytes);
  for (weir__block *block = pool->waiting[size_class]; block != NULL; block = block->next) {
    if (!block->users_known) continue;
    (void)weir__block_in_use(block, liveness);
    weir__pool_unlink(pool, block);
    return block;
  }
  return NULL;
}

weir__block *weir__pool_take_idle(weir__pool *pool, uint64_t bytes, bool search, const weir__liveness *liveness) {
  uint64_t block_bytes;
  uint32_t look_at = search ? UINT32_MAX : WAITING_LOOKED_AT;
  weir__block *block = take_idle(pool, weir__pool_class(bytes, &block_bytes), look_at, liveness);
  if (block != NULL) block->user_count = 0;
  return block;
}

bool weir__pool_take_used(weir__pool *pool, weir__block *block, uint64_t bytes) {
  if (block->left || !block->users_known || block->bytes < bytes) return false;
  weir__pool_unlink(pool, block);
  return true;
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
      if (block->state != WEIR__BLOCK_HANDED_OUT) weir__pool_unlink(pool, block);
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
