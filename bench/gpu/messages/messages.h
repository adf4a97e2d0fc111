// SPDX-License-Identifier: Apache-2.0
//
// Messages between two ranks that have a card each. Both ranks run all of it.
#ifndef WEIR_BENCH_GPU_MESSAGES_H
#define WEIR_BENCH_GPU_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/mpi.h"

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_LACKS = 3, TOUCHED = 64 };

// Of the driver. All return 0 if they succeed.
#define CARD_SYMBOLS(X)                                                                                                \
  X(cuMemsetD32Async, set_async, (uint64_t, unsigned, size_t, void *))                                                 \
  X(cuMemcpyAsync, copy_async, (uint64_t, uint64_t, size_t, void *))                                                   \
  X(cuMemcpy, copy, (uint64_t, uint64_t, size_t))                                                                      \
  X(cuMemAlloc_v2, allocate, (uint64_t *, size_t))                                                                     \
  X(cuMemFree_v2, release, (uint64_t))                                                                                 \
  X(cuCtxSetCurrent, set_current, (void *))

typedef struct card_driver {
#define CARD_FIELD(symbol, name, parameters) int(*name) parameters;
  CARD_SYMBOLS(CARD_FIELD)
#undef CARD_FIELD
} card_driver;

typedef struct bench_world {
  int rank;
  weir_context *context;
  weir_device *card;
  weir_kernel *touch, *fill; // change the first TOUCHED numbers; copy `pattern` there
  card_driver driver;
  void *native_context; // of the card; NULL before the first task
  uint32_t *pattern;    // pinned, as many bytes as the largest message
  uint32_t rounds;
  bool wrong;
} bench_world;

// What a size takes one way. GB/s: 10^9 bytes.
typedef struct measured {
  double hop_us;        // a message and a small task, one after another: there and back again and again
  double stream_gbs;    // messages in one direction, several at a time
  uint64_t direct_sent; // messages that MPI took from the card; of both kinds of measurement
} measured;

// By a job that is there. Contents are checked.
measured measure_size(bench_world *world, weir_mpi *mpi, uint64_t bytes);

// The same hop by MPI alone, without tasks: from the card's memory to the other one's, or through pinned memory.
double measure_plain(bench_world *world, uint64_t bytes, bool direct);

double now_us(void);

// Says what is wrong and ends all ranks.
void must(bool good, const char *what);

#endif // WEIR_BENCH_GPU_MESSAGES_H
