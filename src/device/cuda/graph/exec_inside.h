// SPDX-License-Identifier: Apache-2.0
//
// Executable graphs from inside: what is shared by how they are made (exec.c) and by their copies and fills (exec_bytes.c).
#ifndef WEIR_DEVICE_CUDA_GRAPH_EXEC_INSIDE_H
#define WEIR_DEVICE_CUDA_GRAPH_EXEC_INSIDE_H

#include "device/cuda/graph/capture.h"
#include "device/cuda/graph/exec.h"
#include "device/cuda/graph/mover.h"

struct weir__cuda_exec_step {
  uint32_t first_launch, launch_count; // 0: one empty node, or bytes
  CUgraphNode bytes_node;              // NULL: none
  void *to;                            // as it is set now, as is
  uint64_t from;                       // the address, or the pattern
  uint32_t first_edge, edge_count;
  CUgraphNode call_node;     // of a call that is a child graph; NULL: none
  bool straight;             // a call whose nodes are the graph's own
  bool calls, has_lane_edge; // it is a call; one of its edges is for its lane alone
  uint64_t set_serial;       // of the variant that a child is
  uint32_t mover, move;      // the launch that does it, counted from 1, and which of its moves it is; mover 0: none
};

struct weir__cuda_exec_launch {
  CUgraphNode node;
  CUfunction function;
  uint32_t grid[3], block[3], shared_bytes;
  uint32_t first_byte, byte_count;
  bool unknown; // the sizes of its parameters are not known, so that they are set each time
};

// One launch of the kernel that copies and fills.
struct weir__cuda_exec_mover {
  CUgraphNode node;
  weir__cuda_moves moves;
  uint32_t count;
  bool last;    // of steps that no other waits for: it comes after all that any of them waits for
  bool changed; // since it was set
};

typedef struct weir__cuda_exec_step exec_step;
typedef struct weir__cuda_exec_launch exec_launch;
typedef struct weir__cuda_exec_mover exec_mover;

typedef struct weir__cuda_exec_builder {
  weir__cuda_device *device;
  weir__cuda_exec *exec;
  CUgraphNode *ends;   // per step: the node after which it is done
  CUgraphNode *before; // scratch, one more than there are steps
  weir__cuda_session *session;
} weir__cuda_exec_builder;

// Collects what a step comes after in build->before, each node once, behind `count` that are there already; returns how many
// there are then.
size_t weir__cuda_exec_before(const weir__cuda_exec_builder *build, const exec_step *laid, size_t count);

// Finds launches for the copies and fills that a kernel can do. The exec's steps and edges are laid out. False: no memory.
bool weir__cuda_exec_plan_moves(weir__cuda_device *device, weir__cuda_exec *exec, const weir__cuda_step *steps);

// Adds the node of a step's copy or fill, unless it is there already. What comes after a step of a mover that is `last` is
// nothing, and its node is added by weir__cuda_exec_add_last.
CUresult weir__cuda_exec_add_bytes(const weir__cuda_exec_builder *build, const weir__cuda_bytes *bytes, exec_step *laid,
                                   size_t before_count, CUgraphNode *out_node);
CUresult weir__cuda_exec_add_last(const weir__cuda_exec_builder *build);

// Sets what differs; of movers all at once, when all steps were gone through.
CUresult weir__cuda_exec_set_bytes(const weir__cuda_device *device, weir__cuda_exec *exec, exec_step *set,
                                   const weir__cuda_bytes *bytes, uint32_t *out_set);
CUresult weir__cuda_exec_set_movers(const weir__cuda_device *device, weir__cuda_exec *exec, uint32_t *out_set);

#endif // WEIR_DEVICE_CUDA_GRAPH_EXEC_INSIDE_H
