// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#include <stdlib.h>

enum { MOST_KEPT = 256 };

void weir__mpi_pool_initialize(weir__mpi_pool *pool) {
  pthread_mutex_init(&pool->lock, NULL);
}

void weir__mpi_pool_deinitialize(weir__mpi_pool *pool) {
  while (pool->first != NULL) {
    weir__mpi_free *first = pool->first;
    pool->first = first->next;
    free(first);
  }
  pthread_mutex_destroy(&pool->lock);
}

void *weir__mpi_pool_take(weir__mpi_pool *pool, size_t bytes) {
  if (bytes > WEIR__MPI_POOL_BYTES) return aligned_alloc(WEIR__MPI_POOL_ALIGNMENT, bytes);
  pthread_mutex_lock(&pool->lock);
  weir__mpi_free *first = pool->first;
  if (first != NULL) {
    pool->first = first->next;
    pool->count--;
  }
  pthread_mutex_unlock(&pool->lock);
  return first != NULL ? (void *)first : aligned_alloc(WEIR__MPI_POOL_ALIGNMENT, WEIR__MPI_POOL_BYTES);
}

void weir__mpi_pool_give(weir__mpi_pool *pool, void *memory, size_t bytes) {
  weir__mpi_free *given = memory;
  if (bytes <= WEIR__MPI_POOL_BYTES) {
    pthread_mutex_lock(&pool->lock);
    if (pool->count < MOST_KEPT) {
      given->next = pool->first;
      pool->first = given;
      pool->count++;
      given = NULL;
    }
    pthread_mutex_unlock(&pool->lock);
  }
  free(given);
}
