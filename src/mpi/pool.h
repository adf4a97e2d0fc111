// SPDX-License-Identifier: Apache-2.0
//
// Memory for small messages: one thread takes it and another gives it back, which an allocator's caches by thread do not
// like. Any thread.
#ifndef WEIR_MPI_POOL_H
#define WEIR_MPI_POOL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { WEIR__MPI_POOL_BYTES = 2048, WEIR__MPI_POOL_ALIGNMENT = 64 };

typedef struct weir__mpi_free {
  struct weir__mpi_free *next;
} weir__mpi_free;

typedef struct weir__mpi_pool {
  pthread_mutex_t lock;
  weir__mpi_free *first;
  uint32_t count;
} weir__mpi_pool;

void weir__mpi_pool_initialize(weir__mpi_pool *pool);

// When all memory has been given back.
void weir__mpi_pool_deinitialize(weir__mpi_pool *pool);

// Aligned memory, of the pool if `bytes` is at most WEIR__MPI_POOL_BYTES; given back with the same size. NULL: there is none.
void *weir__mpi_pool_take(weir__mpi_pool *pool, size_t bytes);
void weir__mpi_pool_give(weir__mpi_pool *pool, void *memory, size_t bytes);

#endif // WEIR_MPI_POOL_H
