// SPDX-License-Identifier: Apache-2.0
//
// Memory for messages. One thread takes it and another gives it back, which an allocator's caches by thread do not like; and
// large memory comes from the system anew each time, page by page, which takes longer than to copy into it. So small memory
// is kept, and large memory, as long as it is not too much. Any thread.
#ifndef WEIR_MPI_POOL_H
#define WEIR_MPI_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/weir.h"

enum {
  WEIR__MPI_POOL_BYTES = 2176,     // small memory has at most so many bytes
  WEIR__MPI_POOL_LARGE = 1 << 17,  // and large memory at least so many,
  WEIR__MPI_POOL_CARD = 1 << 13,   // or so many where it is pinned for a card
  WEIR__MPI_POOL_MOST_LARGE = 64,  // so much of it is kept
  WEIR__MPI_POOL_KEPT = 256 << 20, // and so many bytes,
  WEIR__MPI_POOL_PINNED = 1 << 30, // there is so much pinned memory at most, for pinning takes longer than a message,
  WEIR__MPI_POOL_SLAB = 1 << 20,   // and what is smaller than large memory of the heap is cut from so much at once
  WEIR__MPI_POOL_ALIGNMENT = 64,
};

typedef struct weir__mpi_free {
  struct weir__mpi_free *next;
  size_t bytes;
} weir__mpi_free;

// Pinned memory of one call of the driver, cut into blocks of one size.
typedef struct weir__mpi_slab weir__mpi_slab;

// Sizes of pinned memory: eight to each power of two.
enum { WEIR__MPI_POOL_CLASSES = 8 * 64 };

typedef struct weir__mpi_pool {
  pthread_mutex_t lock;
  weir__mpi_free *first; // small
  uint32_t count;
  weir__mpi_free *large; // that is not pinned; what was given back last is first
  uint32_t large_count;
  size_t large_bytes;
  weir__mpi_free *pinned[WEIR__MPI_POOL_CLASSES];
  weir__mpi_slab *slabs;
  size_t pinned_bytes, idle; // of all slabs; slabs of which nothing is in use
  weir_device *device;       // large memory is of weir_host_allocate for it, as far as there is any; NULL: it is not
} weir__mpi_pool;

void weir__mpi_pool_initialize(weir__mpi_pool *pool);

// When all memory has been given back.
void weir__mpi_pool_deinitialize(weir__mpi_pool *pool);

// Bytes, rounded up to whole units of alignment.
static inline size_t weir__mpi_pool_aligned(size_t bytes) {
  return (bytes + WEIR__MPI_POOL_ALIGNMENT - 1) / WEIR__MPI_POOL_ALIGNMENT * WEIR__MPI_POOL_ALIGNMENT;
}

// Aligned memory; given back with the number of bytes that it has, which may be more than was asked. NULL: there is none.
void *weir__mpi_pool_take(weir__mpi_pool *pool, size_t bytes, size_t *out_bytes);
// The same without a call of the driver, which may wait for the device: pinned memory that is there, if it is less than twice
// as large, or memory of the heap. For who drives, and for callbacks.
void *weir__mpi_pool_take_there(weir__mpi_pool *pool, size_t bytes, size_t *out_bytes);
// Whether that memory is of weir_host_allocate.
bool weir__mpi_pool_is_pinned(const weir__mpi_pool *pool, const void *memory, size_t bytes);
void weir__mpi_pool_give(weir__mpi_pool *pool, void *memory, size_t bytes);

#endif // WEIR_MPI_POOL_H
