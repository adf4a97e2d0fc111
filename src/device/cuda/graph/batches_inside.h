// SPDX-License-Identifier: Apache-2.0
//
// Batches from inside: what is shared by how they come about (batches.c) and by what becomes of one that is launched (batch.c).
#ifndef WEIR_DEVICE_CUDA_GRAPH_BATCHES_INSIDE_H
#define WEIR_DEVICE_CUDA_GRAPH_BATCHES_INSIDE_H

#include "device/cuda/graph/batches.h"
#include "device/cuda/graph/builder.h"
#include "issue/recurrence.h"

struct weir__cuda_batches {
  weir__cuda_device *device;
  weir__recurrence *recurrence;
  weir__cuda_builder *builder; // NULL: graphs are made when they are needed
  // The batch that was prepared last.
  uint32_t step_count;
  weir__cuda_step steps[WEIR__MOST_COLLECTED];
  struct weir__cuda_steady *steady; // NULL: all pure functions are collected
  bool made;                        // a graph of it, with calls
  bool calls;                       // some are enqueue functions; `order` is theirs
  uint32_t order[WEIR__MOST_COLLECTED];
  uint64_t captured; // calls of these in captures
  char why[160];     // what went wrong in the last one that did
  void **parameters;
  uint32_t parameter_capacity;
  uint64_t last_taken_ns; // when the ring was first found empty; 0: not yet
  weir__cuda_batch *free_batches;
};

// Tasks that were launched as one graph.
struct weir__cuda_batch {
  struct weir__cuda_batch *next;
  weir__cuda_exec *exec; // NULL: nothing has to be launched
  bool useless;          // it could not be launched
  uint32_t count;
  weir__task *tasks[WEIR__LARGEST_BATCH];
};

extern const weir__cuda_op_ops weir__cuda_batch_ops;

// A batch; NULL: no memory. One that is given back is kept to be used again.
weir__cuda_batch *weir__cuda_batch_new(weir__cuda_batches *batches);
void weir__cuda_batch_free(weir__cuda_batches *batches, weir__cuda_batch *batch);

// Frees the batches that are kept to be used again.
void weir__cuda_batches_free(weir__cuda_batches *batches);

#endif // WEIR_DEVICE_CUDA_GRAPH_BATCHES_INSIDE_H
