// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#include <stdlib.h>

enum { MOST_SMALL = 256 };

void weir__mpi_pool_initialize(weir__mpi_pool *pool) {
  pthread_mutex_init(&pool->lock, NULL);
}

// Before large memory.
typedef struct prefix {
  weir_device *device; // whose weir_host_allocate it is of; NULL: of the heap
  unsigned char unused[WEIR__MPI_POOL_ALIGNMENT - sizeof(weir_device *)];
} prefix;

// False: there is enough pinned memory already.
static bool claim_pinned(weir__mpi_pool *pool, size_t bytes) {
  pthread_mutex_lock(&pool->lock);
  bool claimed = pool->device != NULL && bytes <= WEIR__MPI_POOL_PINNED - pool->pinned_bytes;
  if (claimed) pool->pinned_bytes += bytes;
  pthread_mutex_unlock(&pool->lock);
  return claimed;
}

static void unclaim_pinned(weir__mpi_pool *pool, size_t bytes) {
  pthread_mutex_lock(&pool->lock);
  pool->pinned_bytes -= bytes;
  pthread_mutex_unlock(&pool->lock);
}

static bool is_large(const weir__mpi_pool *pool, size_t bytes) {
  return bytes >= (pool->device != NULL ? WEIR__MPI_POOL_CARD : WEIR__MPI_POOL_LARGE);
}

static void *allocate(weir__mpi_pool *pool, size_t bytes) {
  if (!is_large(pool, bytes)) return aligned_alloc(WEIR__MPI_POOL_ALIGNMENT, bytes);
  void *memory = NULL;
  bool claimed = claim_pinned(pool, bytes);
  bool pinned = claimed && weir_host_allocate(pool->device, sizeof(prefix) + bytes, &memory) == WEIR_OK;
  if (claimed && !pinned) unclaim_pinned(pool, bytes);
  if (!pinned) memory = aligned_alloc(WEIR__MPI_POOL_ALIGNMENT, sizeof(prefix) + bytes);
  if (memory == NULL) return NULL;
  prefix *before = memory;
  before->device = pinned ? pool->device : NULL;
  return before + 1;
}

static prefix *prefix_of(const void *memory) {
  return (prefix *)(uintptr_t)memory - 1;
}

bool weir__mpi_pool_is_pinned(const weir__mpi_pool *pool, const void *memory, size_t bytes) {
  return is_large(pool, bytes) && prefix_of(memory)->device != NULL;
}

static void free_memory(weir__mpi_pool *pool, void *memory, size_t bytes) {
  if (!is_large(pool, bytes)) {
    free(memory);
  } else if (prefix_of(memory)->device != NULL) {
    weir_host_free(prefix_of(memory)->device, prefix_of(memory));
    unclaim_pinned(pool, bytes);
  } else {
    free(prefix_of(memory));
  }
}

static void free_all(weir__mpi_pool *pool, weir__mpi_free *first) {
  while (first != NULL) {
    weir__mpi_free *next = first->next;
    free_memory(pool, first, first->bytes);
    first = next;
  }
}

void weir__mpi_pool_deinitialize(weir__mpi_pool *pool) {
  free_all(pool, pool->first);
  free_all(pool, pool->large);
  pthread_mutex_destroy(&pool->lock);
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
// Large memory serves those who ask for as much or for little less. The lock is held.

static weir__mpi_free *unlink_large(weir__mpi_pool *pool, weir__mpi_free **link) {
  weir__mpi_free *found = *link;
  *link = found->next;
  if (prefix_of(found)->device != NULL) return found;
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
  if (prefix_of(given)->device != NULL) return;
  pool->large_count++;
  pool->large_bytes += given->bytes;
}

// What was not used for longest, of memory that is not pinned, if there is too much of that. NULL: there is not.
static weir__mpi_free *drop_large(weir__mpi_pool *pool) {
  if (pool->large_bytes <= WEIR__MPI_POOL_KEPT && pool->large_count <= WEIR__MPI_POOL_MOST_LARGE) return NULL;
  weir__mpi_free **last = NULL;
  for (weir__mpi_free **link = &pool->large; *link != NULL; link = &(*link)->next) {
    if (prefix_of(*link)->device == NULL) last = link;
  }
  return unlink_large(pool, last);
}

// All pinned memory that is kept, if there is no room for `bytes` more beside it.
static weir__mpi_free *drop_pinned(weir__mpi_pool *pool, size_t bytes) {
  weir__mpi_free *dropped = NULL;
  if (pool->device == NULL || bytes <= WEIR__MPI_POOL_PINNED - pool->pinned_bytes) return NULL;
  for (weir__mpi_free **link = &pool->large; *link != NULL;) {
    if (prefix_of(*link)->device == NULL) {
      link = &(*link)->next;
      continue;
    }
    weir__mpi_free *one = unlink_large(pool, link);
    one->next = dropped;
    dropped = one;
  }
  return dropped;
}

// ---------------------------------------------------------------------------------------------------------------

void *weir__mpi_pool_take(weir__mpi_pool *pool, size_t bytes, size_t *out_bytes) {
  bool small = bytes <= WEIR__MPI_POOL_BYTES, large = is_large(pool, bytes);
  if (small) bytes = WEIR__MPI_POOL_BYTES;
  pthread_mutex_lock(&pool->lock);
  weir__mpi_free *found = small ? take_small(pool) : large ? take_large(pool, bytes) : NULL;
  weir__mpi_free *dropped = found == NULL && large ? drop_pinned(pool, bytes) : NULL;
  pthread_mutex_unlock(&pool->lock);
  free_all(pool, dropped);
  *out_bytes = found != NULL && !small ? found->bytes : bytes;
  return found != NULL ? (void *)found : allocate(pool, bytes);
}

void weir__mpi_pool_give(weir__mpi_pool *pool, void *memory, size_t bytes) {
  weir__mpi_free *given = memory, *dropped = NULL;
  bool small = bytes <= WEIR__MPI_POOL_BYTES, large = is_large(pool, bytes);
  if (!small && !large) {
    free(memory);
    return;
  }
  given->bytes = bytes;
  given->next = NULL;
  pthread_mutex_lock(&pool->lock);
  if (large) keep_large(pool, given);
  weir__mpi_free **end = &dropped;
  while (large && (*end = drop_large(pool)) != NULL) {
    (*end)->next = NULL;
    end = &(*end)->next;
  }
  if (small && !keep_small(pool, given)) dropped = given;
  pthread_mutex_unlock(&pool->lock);
  free_all(pool, dropped);
}
