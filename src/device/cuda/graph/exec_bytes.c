// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills in executable graphs: nodes of their own, or together in launches of a kernel. What begins a graph is done by one
// launch, and so is what ends it: a kernel that waits for one of a few small copies hardly waits longer for all.
#include <string.h>

#include "base/allocate.h"
#include "device/cuda/graph/exec_inside.h"

uint64_t weir__cuda_bytes_source(const weir__cuda_bytes *bytes) {
  if (!bytes->fill) return (uint64_t)(uintptr_t)bytes->args[1];
  uint32_t pattern;
  memcpy(&pattern, bytes->args[1], sizeof pattern);
  return pattern;
}

static CUDA_MEMSET_NODE_PARAMS fill_params(const weir__cuda_bytes *bytes) {
  return (CUDA_MEMSET_NODE_PARAMS){.dst = (CUdeviceptr)(uintptr_t)bytes->args[0],
                                   .value = (unsigned int)weir__cuda_bytes_source(bytes),
                                   .elementSize = sizeof(uint32_t),
                                   .width = bytes->count / sizeof(uint32_t),
                                   .height = 1};
}

// The driver finds out by itself which memory it is.
static CUDA_MEMCPY3D copy_params(const weir__cuda_bytes *bytes) {
  return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                         .srcDevice = (CUdeviceptr)(uintptr_t)bytes->args[1],
                         .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                         .dstDevice = (CUdeviceptr)(uintptr_t)bytes->args[0],
                         .WidthInBytes = bytes->count,
                         .Height = 1,
                         .Depth = 1};
}

// ---------------------------------------------------------------------------------------------------------------
// Which go by a kernel

static uint32_t new_mover(weir__cuda_exec *exec, bool last) {
  exec_mover *mover = &exec->movers[exec->mover_count++];
  *mover = (exec_mover){.last = last};
  return exec->mover_count;
}

static void put(weir__cuda_exec *exec, exec_step *laid, const weir__cuda_bytes *bytes, uint32_t number) {
  exec_mover *mover = &exec->movers[number - 1];
  laid->mover = number;
  laid->move = mover->count;
  mover->moves.moves[mover->count++] = weir__cuda_move_of(bytes);
}

bool weir__cuda_exec_plan_moves(weir__cuda_device *device, weir__cuda_exec *exec, const weir__cuda_step *steps) {
  uint32_t count = 0, first = 0, last = 0;
  for (uint32_t i = 0; i < exec->step_count; i++) count += steps[i].bytes != NULL;
  if (count == 0 || !weir__cuda_mover_ready(device)) return true;
  bool *waited_for = weir__allocate_zeroed(exec->step_count);
  exec->movers = weir__allocate(count * sizeof *exec->movers);
  if (waited_for == NULL || exec->movers == NULL) {
    weir__free(waited_for);
    return false;
  }
  for (uint32_t i = 0; i < exec->edge_count; i++) waited_for[exec->edges[i]] = true;
  for (uint32_t i = 0; i < exec->step_count; i++) {
    const weir__cuda_bytes *bytes = steps[i].bytes;
    if (bytes == NULL || !weir__cuda_mover_takes(bytes)) continue;
    bool begins = steps[i].predecessor_count == 0, ends = !begins && !waited_for[i];
    uint32_t *shared = begins ? &first : &last, number;
    if (!begins && !ends) {
      number = new_mover(exec, false);
    } else {
      if (*shared == 0 || exec->movers[*shared - 1].count == WEIR__CUDA_MOVES) *shared = new_mover(exec, ends);
      number = *shared;
    }
    put(exec, &exec->steps[i], bytes, number);
  }
  weir__free(waited_for);
  return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Nodes

static CUresult add_mover(const weir__cuda_exec_builder *build, exec_mover *mover, size_t before_count) {
  void *parameter;
  CUDA_KERNEL_NODE_PARAMS params = weir__cuda_mover_params(build->device, &mover->moves, mover->count, &parameter);
  return build->device->driver->cuGraphAddKernelNode(&mover->node, build->exec->graph, build->before, before_count,
                                                     &params);
}

CUresult weir__cuda_exec_add_bytes(const weir__cuda_exec_builder *build, const weir__cuda_bytes *bytes, exec_step *laid,
                                   size_t before_count, CUgraphNode *out_node) {
  const weir__cuda_driver *driver = build->device->driver;
  CUDA_MEMSET_NODE_PARAMS fill = fill_params(bytes);
  CUDA_MEMCPY3D copy = copy_params(bytes);
  CUresult result = CUDA_SUCCESS;
  laid->to = bytes->args[0];
  laid->from = weir__cuda_bytes_source(bytes);
  if (laid->mover == 0) {
    result = bytes->fill ? driver->cuGraphAddMemsetNode(&laid->bytes_node, build->exec->graph, build->before,
                                                        before_count, &fill, build->device->primary)
                         : driver->cuGraphAddMemcpyNode(&laid->bytes_node, build->exec->graph, build->before,
                                                        before_count, &copy, build->device->primary);
    *out_node = laid->bytes_node;
    return result;
  }
  exec_mover *mover = &build->exec->movers[laid->mover - 1];
  if (mover->node == NULL && !mover->last) result = add_mover(build, mover, before_count);
  *out_node = mover->node;
  return result;
}

CUresult weir__cuda_exec_add_last(const weir__cuda_exec_builder *build) {
  weir__cuda_exec *exec = build->exec;
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < exec->mover_count && result == CUDA_SUCCESS; i++) {
    size_t count = 0;
    if (!exec->movers[i].last) continue;
    for (uint32_t j = 0; j < exec->step_count; j++) {
      if (exec->steps[j].mover == i + 1) count = weir__cuda_exec_before(build, &exec->steps[j], count);
    }
    result = add_mover(build, &exec->movers[i], count);
  }
  return result;
}

// ---------------------------------------------------------------------------------------------------------------
// Changes

CUresult weir__cuda_exec_set_bytes(const weir__cuda_device *device, weir__cuda_exec *exec, exec_step *set,
                                   const weir__cuda_bytes *bytes, uint32_t *out_set) {
  uint64_t from = weir__cuda_bytes_source(bytes);
  if (set->to == bytes->args[0] && set->from == from) return CUDA_SUCCESS;
  set->to = bytes->args[0];
  set->from = from;
  if (set->mover != 0) {
    exec_mover *mover = &exec->movers[set->mover - 1];
    exec->outgrown = exec->outgrown || !weir__cuda_mover_takes(bytes);
    mover->moves.moves[set->move] = weir__cuda_move_of(bytes);
    mover->changed = true;
    return CUDA_SUCCESS;
  }
  CUDA_MEMSET_NODE_PARAMS fill = fill_params(bytes);
  CUDA_MEMCPY3D copy = copy_params(bytes);
  CUresult result =
      bytes->fill ? device->driver->cuGraphExecMemsetNodeSetParams(exec->exec, set->bytes_node, &fill, device->primary)
                  : device->driver->cuGraphExecMemcpyNodeSetParams(exec->exec, set->bytes_node, &copy, device->primary);
  ++*out_set;
  return result;
}

CUresult weir__cuda_exec_set_movers(const weir__cuda_device *device, weir__cuda_exec *exec, uint32_t *out_set) {
  for (uint32_t i = 0; i < exec->mover_count; i++) {
    exec_mover *mover = &exec->movers[i];
    if (!mover->changed) continue;
    void *parameter;
    CUDA_KERNEL_NODE_PARAMS params = weir__cuda_mover_params(device, &mover->moves, mover->count, &parameter);
    CUresult result = device->driver->cuGraphExecKernelNodeSetParams(exec->exec, mover->node, &params);
    if (result != CUDA_SUCCESS) return result;
    mover->changed = false;
    ++*out_set;
  }
  return CUDA_SUCCESS;
}
