// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#include <stdlib.h>

enum { MOST_SMALL = 256, POWER = 8 }; // POWER: classes of a power of two

void weir__mpi_pool_initialize(weir__mpi_pool *pool) {
  pthread_mutex_init(&pool->lock, NULL);
}

// Before large memory.
typedef struct prefix {
  weir__mpi_slab *slab; // that it is cut from; NULL: it is of the heap
  unsigned char unused[WEIR__MPI_POOL_ALIGNMENT - sizeof(weir__mpi_slab *)];
} prefix;

// In the slab itself, before its blocks.
struct weir__mpi_slab {
  _Alignas(WEIR__MPI_POOL_ALIGNMENT) weir__mpi_slab *next;
  size_t bytes, block; // of all; that a block has for its user
  uint32_t blocks, in_use;
};

static prefix *prefix_of(const void *memory) {
  return (prefix *)(uintptr_t)memory - 1;
}

static bool is_large(const weir__mpi_pool *pool, size_t bytes) {
  return bytes >= (pool->device != NULL ? WEIR__MPI_POOL_CARD : WEIR__MPI_POOL_LARGE);
}

bool weir__mpi_pool_is_pinned(const weir__mpi_pool *pool, const void *memory, size_t bytes) {
  return is_large(pool, bytes) && prefix_of(memory)->slab != NULL;
}

static void free_all(const weir__mpi_pool *pool, weir__mpi_free *first) {
  while (first != NULL) {
    weir__mpi_free *next = first->next;
    free(is_large(pool, first->bytes) ? (void *)prefix_of(first) : (void *)first);
    first = next;
  }
}

static void free_slabs(const weir__mpi_pool *pool, weir__mpi_slab *first) {
  while (first != NULL) {
    weir__mpi_slab *next = first->next;
    weir_host_free(pool->device, first);
    first = next;
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Small memory is all of one size. The lock is held.

static weir__mpi_free *take_small(weir__mpi_pool *pool) {
  weir__mpi_free *first = pool->first;
  if (first == NULL) return NULL;
  pool->first = first->next;
  pool->count--;
  return first;
}

static bool keep_small(weir__mpi_pool *pool, weir__mpi_free *given) {
  if (pool->count == MOST_SMALL) return false;
  given->next = pool->first;
  pool->first = given;
  pool->count++;
  return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Large memory of the heap serves those who ask for as much or for little less. There are few. The lock is held.

static weir__mpi_free *unlink_large(weir__mpi_pool *pool, weir__mpi_free **link) {
  weir__mpi_free *found = *link;
  *link = found->next;
  pool->large_count--;
  pool->large_bytes -= found->bytes;
  return found;
}

static weir__mpi_free *take_large(weir__mpi_pool *pool, size_t bytes) {
  weir__mpi_free **best = NULL;
  for (weir__mpi_free **link = &pool->large; *link != NULL; link = &(*link)->next) {
    size_t has = (*link)->bytes;
    if (has >= bytes && has - bytes <= bytes / 4 && (best == NULL || has < (*best)->bytes)) best = link;
  }
  return best == NULL ? NULL : unlink_large(pool, best);
}

static void keep_large(weir__mpi_pool *pool, weir__mpi_free *given) {
  given->next = pool->large;
  pool->large = given;
  pool->large_count++;
  pool->large_bytes += given->bytes;
}

// What was not used for longest, if there is too much. NULL: there is not.
static weir__mpi_free *drop_large(weir__mpi_pool *pool) {
  if (pool->large_bytes <= WEIR__MPI_POOL_KEPT && pool->large_count <= WEIR__MPI_POOL_MOST_LARGE) return NULL;
  weir__mpi_free **last = &pool->large;
  while ((*last)->next != NULL) last = &(*last)->next;
  return unlink_large(pool, last);
}

// ---------------------------------------------------------------------------------------------------------------
// Pinned memory has sizes of classes, and serves those who ask for that, or for a class less.

// The size of the class that is large enough, and the number of that class.
static size_t round_up(size_t bytes) {
  size_t step = (size_t)1 << (60 - __builtin_clzll(bytes)); // an eighth of the power of two
  return (bytes + step - 1) / step * step;
}

static uint32_t class_of(size_t rounded) {
  uint32_t power = (uint32_t)(63 - __builtin_clzll(rounded));
  return power * 8 + (uint32_t)(rounded >> (power - 3) & 7);
}

// How many blocks a slab has.
static uint32_t blocks_of(size_t rounded) {
  return rounded >= WEIR__MPI_POOL_LARGE ? 1 : (uint32_t)(WEIR__MPI_POOL_SLAB / (sizeof(prefix) + rounded));
}

static size_t slab_bytes(size_t rounded) {
  return sizeof(weir__mpi_slab) + blocks_of(rounded) * (sizeof(prefix) + rounded);
}

// The lock is held in all of the following, unless it says otherwise.
static void use(weir__mpi_pool *pool, weir__mpi_slab *slab) {
  pool->idle -= slab->in_use++ == 0;
}

// From the class or one of those behind it, `above` at most.
static weir__mpi_free *take_pinned(weir__mpi_pool *pool, size_t rounded, uint32_t above) {
  weir__mpi_free **link = &pool->pinned[class_of(rounded)], **last = link + above, *found;
  while ((found = *link) == NULL && link < last) link++;
  if (found == NULL) return NULL;
  *link = found->next;
  use(pool, prefix_of(found)->slab);
  return found;
}

static void push_pinned(weir__mpi_pool *pool, weir__mpi_free *given) {
  weir__mpi_free **link = &pool->pinned[class_of(given->bytes)];
  given->next = *link;
  *link = given;
}

static void keep_pinned(weir__mpi_pool *pool, weir__mpi_free *given) {
  given->bytes = prefix_of(given)->slab->block;
  push_pinned(pool, given);
  pool->idle += --prefix_of(given)->slab->in_use == 0;
}

static bool has_room(const weir__mpi_pool *pool, size_t rounded) {
  return slab_bytes(rounded) <= WEIR__MPI_POOL_PINNED - pool->pinned_bytes;
}

// All slabs of which nothing is in use. Their blocks are kept no more.
static weir__mpi_slab *drop_idle(weir__mpi_pool *pool) {
  weir__mpi_slab *dropped = NULL;
  for (uint32_t i = 0; i < WEIR__MPI_POOL_CLASSES; i++) {
    for (weir__mpi_free **link = &pool->pinned[i]; *link != NULL;) {
      if (prefix_of(*link)->slab->in_use == 0)
        *link = (*link)->next;
      else
        link = &(*link)->next;
    }
  }
  for (weir__mpi_slab **link = &pool->slabs, *slab; (slab = *link) != NULL;) {
    if (slab->in_use > 0) {
      link = &slab->next;
      continue;
    }
    *link = slab->next;
    slab->next = dropped;
    dropped = slab;
    pool->pinned_bytes -= slab->bytes;
  }
  pool->idle = 0;
  return dropped;
}

// Room for a slab; false: there is enough pinned memory already. The lock is not held.
static bool claim_pinned(weir__mpi_pool *pool, size_t rounded) {
  weir__mpi_slab *dropped = NULL;
  pthread_mutex_lock(&pool->lock);
  if (!has_room(pool, rounded) && pool->idle > 0) dropped = drop_idle(pool);
  bool claimed = has_room(pool, rounded);
  if (claimed) pool->pinned_bytes += slab_bytes(rounded);
  pthread_mutex_unlock(&pool->lock);
  free_slabs(pool, dropped);
  return claimed;
}

// A new slab, whose first block is in use. The lock is held.
static weir__mpi_free *cut_slab(weir__mpi_pool *pool, weir__mpi_slab *slab, size_t rounded) {
  *slab = (weir__mpi_slab){
      .next = pool->slabs, .bytes = slab_bytes(rounded), .block = rounded, .blocks = blocks_of(rounded), .in_use = 1};
  pool->slabs = slab;
  for (uint32_t i = slab->blocks; i > 0; i--) {
    prefix *before = (prefix *)(void *)((unsigned char *)(slab + 1) + (i - 1) * (sizeof(prefix) + rounded));
    before->slab = slab;
    weir__mpi_free *block = (weir__mpi_free *)(void *)(before + 1);
    block->bytes = rounded;
    if (i == 1) return block;
    push_pinned(pool, block);
  }
  return NULL;
}

// The lock is not held. NULL: no memory.
static weir__mpi_free *allocate_pinned(weir__mpi_pool *pool, size_t rounded) {
  void *memory = NULL;
  if (!claim_pinned(pool, rounded)) return NULL;
  bool pinned = weir_host_allocate(pool->device, slab_bytes(rounded), &memory) == WEIR_OK;
  pthread_mutex_lock(&pool->lock);
  if (!pinned) pool->pinned_bytes -= slab_bytes(rounded);
  weir__mpi_free *block = pinned ? cut_slab(pool, memory, rounded) : NULL;
  pthread_mutex_unlock(&pool->lock);
  return block;
}

// ---------------------------------------------------------------------------------------------------------------

void weir__mpi_pool_deinitialize(weir__mpi_pool *pool) {
  free_all(pool, pool->first);
  free_all(pool, pool->large);
  free_slabs(pool, drop_idle(pool));
  pthread_mutex_destroy(&pool->lock);
}

static void *allocate_large(size_t bytes) {
  prefix *before = aligned_alloc(WEIR__MPI_POOL_ALIGNMENT, sizeof(prefix) + bytes);
  if (before == NULL) return NULL;
  before->slab = NULL;
  return before + 1;
}

static weir__mpi_free *take_some_pinned(weir__mpi_pool *pool, size_t rounded, bool pins) {
  pthread_mutex_lock(&pool->lock);
  weir__mpi_free *found = take_pinned(pool, rounded, pins ? 1 : POWER - 1);
  pthread_mutex_unlock(&pool->lock);
  return found != NULL || !pins ? found : allocate_pinned(pool, rounded);
}

static void *take_some_large(weir__mpi_pool *pool, size_t bytes, bool pins, size_t *out_bytes) {
  weir__mpi_free *found = NULL;
  if (pool->device != NULL && bytes <= WEIR__MPI_POOL_PINNED) found = take_some_pinned(pool, round_up(bytes), pins);
  if (found == NULL) {
    pthread_mutex_lock(&pool->lock);
    found = take_large(pool, bytes);
    pthread_mutex_unlock(&pool->lock);
  }
  *out_bytes = found != NULL ? found->bytes : bytes;
  return found != NULL ? (void *)found : allocate_large(bytes);
}

static void *take(weir__mpi_pool *pool, size_t bytes, bool pins, size_t *out_bytes) {
  if (is_large(pool, bytes)) return take_some_large(pool, bytes, pins, out_bytes);
  *out_bytes = bytes;
  if (bytes > WEIR__MPI_POOL_BYTES) return aligned_alloc(WEIR__MPI_POOL_ALIGNMENT, bytes);
  *out_bytes = WEIR__MPI_POOL_BYTES;
  pthread_mutex_lock(&pool->lock);
  weir__mpi_free *found = take_small(pool);
  pthread_mutex_unlock(&pool->lock);
  return found != NULL ? (void *)found : aligned_alloc(WEIR__MPI_POOL_ALIGNMENT, WEIR__MPI_POOL_BYTES);
}

void *weir__mpi_pool_take(weir__mpi_pool *pool, size_t bytes, size_t *out_bytes) {
  return take(pool, bytes, true, out_bytes);
}

void *weir__mpi_pool_take_there(weir__mpi_pool *pool, size_t bytes, size_t *out_bytes) {
  return take(pool, bytes, false, out_bytes);
}

void weir__mpi_pool_give(weir__mpi_pool *pool, void *memory, size_t bytes) {
  weir__mpi_free *given = memory, *dropped = NULL, **end = &dropped;
  bool small = bytes <= WEIR__MPI_POOL_BYTES, large = is_large(pool, bytes);
  if (!small && !large) {
    free(memory);
    return;
  }
  bool pinned = weir__mpi_pool_is_pinned(pool, memory, bytes);
  given->bytes = bytes;
  given->next = NULL;
  pthread_mutex_lock(&pool->lock);
  if (small && !keep_small(pool, given)) dropped = given;
  if (pinned)
    keep_pinned(pool, given);
  else if (large)
    keep_large(pool, given);
  while (large && !pinned && (*end = drop_large(pool)) != NULL) {
    (*end)->next = NULL;
    end = &(*end)->next;
  }
  pthread_mutex_unlock(&pool->lock);
  free_all(pool, dropped);
}
