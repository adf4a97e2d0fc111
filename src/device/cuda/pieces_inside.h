// SPDX-License-Identifier: Apache-2.0
//
// Pieces from inside: what is shared by where they are cut and go (pieces.c) and by what becomes of one that is launched as one
// graph (piece.c).
#ifndef WEIR_DEVICE_CUDA_PIECES_INSIDE_H
#define WEIR_DEVICE_CUDA_PIECES_INSIDE_H

#include "device/cuda/builder.h"
#include "device/cuda/cache.h"
#include "device/cuda/collection.h"
#include "device/cuda/cuts.h"
#include "device/cuda/past.h"
#include "device/cuda/pieces.h"

struct weir__cuda_pieces {
  weir__cuda_device *device;
  weir__cuda_cache *cache;
  weir__cuda_builder *builder; // NULL: graphs are made when they are needed
  bool always;                 // graphs also for pieces that are hardly worth it
  uint32_t worth_a_wait;       // tasks of a graph for which the resident kernel is waited for
  weir__cuda_past past;
  weir__cuda_collection collection;
  weir__cuda_cuts cuts;
  weir__task *first[WEIR__CUDA_MOST_COLLECTED], *again[WEIR__CUDA_MOST_COLLECTED];
  weir__cuda_step steps[WEIR__CUDA_MOST_COLLECTED];
  void **parameters;
  uint32_t parameter_capacity;
  uint64_t last_collected_ns; // when the ring was first found empty; 0: not yet
  weir__cuda_piece *free_pieces;
};

// Launches the first `count` tasks together; a graph in which something was set takes long to launch, and is not launched
// `here`, where the next one can be set meanwhile. False: it cannot be done, and nothing was changed.
bool weir__cuda_launch_as_piece(weir__cuda_pieces *pieces, uint32_t count, weir__cuda_exec *exec, bool here);

// Frees the pieces that are kept to be used again.
void weir__cuda_free_pieces(weir__cuda_pieces *pieces);

#endif // WEIR_DEVICE_CUDA_PIECES_INSIDE_H
