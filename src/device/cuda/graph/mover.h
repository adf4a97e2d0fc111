// SPDX-License-Identifier: Apache-2.0
//
// Small copies and fills of graphs, by a kernel of Weir's own: the card's multiprocessors read and write the host's memory.
//
// DESIGN. A copy as a node of its own is done by a copy engine, one at a time for each direction, which takes some microseconds
// however small it is, and its ends have to be told from engine to engine. A kernel that copies is a kernel like the others:
// several copies become one node, those of different launches overlap, and a graph of kernels alone is launched in less time.
// Large copies stay with the engines, which need no multiprocessor and reach the full rate.
//
// Called by the device's thread, with the device's context current.
#ifndef WEIR_DEVICE_CUDA_GRAPH_MOVER_H
#define WEIR_DEVICE_CUDA_GRAPH_MOVER_H

#include "device/cuda/cuda_device.h"
#include "device/cuda/graph/exec.h"

enum { WEIR__CUDA_MOVES = 8 }; // by one launch, at most

typedef struct weir__cuda_move {
  uint64_t to, from; // addresses; of a fill `from` is the pattern
  uint32_t bytes, fill;
} weir__cuda_move;

// The kernel's parameter.
typedef struct weir__cuda_moves {
  weir__cuda_move moves[WEIR__CUDA_MOVES];
} weir__cuda_moves;

// Whether the device has the kernel, which is loaded by the first call.
bool weir__cuda_mover_ready(weir__cuda_device *device);

// Whether bytes are few enough, and where the kernel reaches them.
bool weir__cuda_mover_takes(const weir__cuda_bytes *bytes);

weir__cuda_move weir__cuda_move_of(const weir__cuda_bytes *bytes);

// A launch of `count` moves. `*parameter` is where the launch finds its parameter, `moves`.
CUDA_KERNEL_NODE_PARAMS weir__cuda_mover_params(const weir__cuda_device *device, const weir__cuda_moves *moves,
                                                uint32_t count, void **parameter);

#endif // WEIR_DEVICE_CUDA_GRAPH_MOVER_H
