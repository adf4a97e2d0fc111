// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/graph/exec_inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "device/cuda/graph/adopted.h"

enum { KNOWN_PARAMETERS = 16, POINTER_BYTES = 8, FEW_EDGES = 64 };

static uint32_t launches_of(const weir__cuda_step *step) {
  return step->kernel == NULL ? 0 : step->kernel->count;
}

// Edges to earlier steps, with that to the one before in the lane of a call.
static uint32_t edges_of(const weir__cuda_step *step) {
  return step->predecessor_count + (step->call != NULL && step->call->after != WEIR__CUDA_NO_STEP);
}

static const uint32_t *grid_of(const weir__cuda_launch *launch, const weir__cuda_step *step) {
  return launch->grid[0] == 0 ? step->groups : launch->grid;
}

// Bytes of a launch's parameters; UINT32_MAX: the driver does not tell.
static uint32_t parameter_bytes(const weir__cuda_launch *launch) {
  if (launch->parameter_count > KNOWN_PARAMETERS) return UINT32_MAX;
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < launch->parameter_count; i++) bytes += launch->parameter_bytes[i];
  return bytes;
}

static void *parameter(const weir__cuda_launch *launch, const weir__cuda_step *step, uint32_t index) {
  return launch->value != NULL ? launch->value : step->parameters[index];
}

static void copy_parameters(const weir__cuda_launch *launch, const weir__cuda_step *step, unsigned char *bytes) {
  for (uint32_t i = 0; i < launch->parameter_count; i++) {
    memcpy(bytes, parameter(launch, step, i), launch->parameter_bytes[i]);
    bytes += launch->parameter_bytes[i];
  }
}

static bool same_parameters(const weir__cuda_launch *launch, const weir__cuda_step *step, const unsigned char *bytes) {
  for (uint32_t i = 0; i < launch->parameter_count; i++) {
    if (memcmp(bytes, parameter(launch, step, i), launch->parameter_bytes[i]) != 0) return false;
    bytes += launch->parameter_bytes[i];
  }
  return true;
}

static bool same_shape(const weir__cuda_device *device, const exec_launch *set, const weir__cuda_launch *launch,
                       const weir__cuda_step *step) {
  return set->function == launch->functions[device->base.device.index] && set->shared_bytes == launch->shared_bytes &&
         memcmp(set->grid, grid_of(launch, step), sizeof set->grid) == 0 &&
         memcmp(set->block, launch->block, sizeof set->block) == 0 &&
         (set->unknown || set->byte_count == parameter_bytes(launch));
}

static CUDA_KERNEL_NODE_PARAMS node_params(const weir__cuda_device *device, const weir__cuda_launch *launch,
                                           const weir__cuda_step *step, void **value) {
  const uint32_t *grid = grid_of(launch, step);
  *value = launch->value;
  return (CUDA_KERNEL_NODE_PARAMS){.func = launch->functions[device->base.device.index],
                                   .gridDimX = grid[0],
                                   .gridDimY = grid[1],
                                   .gridDimZ = grid[2],
                                   .blockDimX = launch->block[0],
                                   .blockDimY = launch->block[1],
                                   .blockDimZ = launch->block[2],
                                   .sharedMemBytes = launch->shared_bytes,
                                   .kernelParams = launch->value != NULL ? value : step->parameters};
}

static void note_set(const weir__cuda_device *device, weir__cuda_exec *exec, exec_launch *set,
                     const weir__cuda_launch *launch, const weir__cuda_step *step) {
  set->function = launch->functions[device->base.device.index];
  set->shared_bytes = launch->shared_bytes;
  memcpy(set->grid, grid_of(launch, step), sizeof set->grid);
  memcpy(set->block, launch->block, sizeof set->block);
  if (!set->unknown) copy_parameters(launch, step, exec->bytes + set->first_byte);
}

void weir__cuda_exec_destroy(weir__cuda_device *device, weir__cuda_exec *exec) {
  if (exec == NULL) return;
  if (exec->exec != NULL) device->driver->cuGraphExecDestroy(exec->exec);
  if (exec->graph != NULL) device->driver->cuGraphDestroy(exec->graph);
  for (uint32_t i = 0; exec->marks != NULL && i < 2 * exec->step_count; i++) {
    if (exec->marks[i] != NULL) device->driver->cuEventDestroy(exec->marks[i]);
  }
  for (uint32_t i = 0; exec->calls != NULL && i < exec->step_count; i++)
    weir__cuda_call_free(device, &exec->calls[i], true);
  weir__free(exec->calls);
  weir__free(exec->marks);
  weir__free(exec->steps);
  weir__free(exec->movers);
  weir__free(exec->launches);
  weir__free(exec->edges);
  weir__free(exec->bytes);
  weir__free(exec);
}

// Makes room for everything, and fills in the topology.
static bool lay_out(weir__cuda_exec *exec, const weir__cuda_step *steps, uint32_t count, bool marks) {
  uint32_t launches = 0, edges = 0;
  for (uint32_t i = 0; i < count; i++) {
    launches += launches_of(&steps[i]);
    edges += edges_of(&steps[i]);
  }
  exec->step_count = count;
  exec->head.launch_count = launches;
  exec->edge_count = edges;
  exec->steps = weir__allocate(count * sizeof *exec->steps);
  exec->launches = weir__allocate_zeroed(launches * sizeof *exec->launches);
  exec->edges = weir__allocate(edges * sizeof *exec->edges);
  if (marks) exec->marks = weir__allocate_zeroed(2 * (size_t)count * sizeof(CUevent));
  if (exec->steps == NULL || exec->launches == NULL || exec->edges == NULL || (marks && exec->marks == NULL))
    return false;
  uint32_t launch = 0, edge = 0, byte = 0;
  for (uint32_t i = 0; i < count; i++) {
    exec->steps[i] = (exec_step){.first_launch = launch,
                                 .launch_count = launches_of(&steps[i]),
                                 .first_edge = edge,
                                 .edge_count = edges_of(&steps[i])};
    for (uint32_t j = 0; j < steps[i].predecessor_count; j++) exec->edges[edge++] = steps[i].predecessors[j];
    exec->steps[i].calls = steps[i].call != NULL;
    exec->steps[i].has_lane_edge = edges_of(&steps[i]) > steps[i].predecessor_count;
    if (exec->steps[i].has_lane_edge) exec->edges[edge++] = steps[i].call->after;
    for (uint32_t j = 0; j < launches_of(&steps[i]); j++) {
      exec_launch *set = &exec->launches[launch++];
      uint32_t bytes = parameter_bytes(&steps[i].kernel->launches[j]);
      set->unknown = bytes == UINT32_MAX;
      set->byte_count = set->unknown ? 0 : bytes;
      set->first_byte = byte;
      byte += set->byte_count;
    }
  }
  exec->bytes = weir__allocate(byte + 1);
  return exec->bytes != NULL;
}

static int by_handle(const void *left, const void *right) {
  uintptr_t a = (uintptr_t) * (const CUgraphNode *)left, b = (uintptr_t) * (const CUgraphNode *)right;
  return a < b ? -1 : a > b;
}

// The same for many edges of a step, in order of handles.
static size_t find_many_before(const weir__cuda_exec_builder *build, const exec_step *laid) {
  size_t kept = 0;
  for (uint32_t i = 0; i < laid->edge_count; i++)
    build->before[i] = build->ends[build->exec->edges[laid->first_edge + i]];
  qsort(build->before, laid->edge_count, sizeof *build->before, by_handle);
  for (uint32_t i = 0; i < laid->edge_count; i++)
    if (kept == 0 || build->before[i] != build->before[kept - 1]) build->before[kept++] = build->before[i];
  return kept;
}

size_t weir__cuda_exec_before(const weir__cuda_exec_builder *build, const exec_step *laid, size_t count) {
  if (count == 0 && laid->edge_count > FEW_EDGES) return find_many_before(build, laid);
  for (uint32_t i = 0; i < laid->edge_count; i++) {
    CUgraphNode end = build->ends[build->exec->edges[laid->first_edge + i]];
    size_t at = 0;
    while (at < count && build->before[at] != end) at++;
    if (at == count) build->before[count++] = end;
  }
  return count;
}

static CUresult add_mark(const weir__cuda_exec_builder *build, uint32_t index, CUgraphNode *before, size_t count,
                         CUgraphNode *out_node) {
  const weir__cuda_driver *driver = build->device->driver;
  CUevent *event = &build->exec->marks[index];
  CUresult result = driver->cuEventCreate(event, CU_EVENT_DEFAULT);
  if (result != CUDA_SUCCESS) return result;
  return driver->cuGraphAddEventRecordNode(out_node, build->exec->graph, before, count, *event);
}

// A call straight in the graph, or as a child; one that puts nothing there is an empty node.
static CUresult add_call(const weir__cuda_exec_builder *build, weir__cuda_call_step *call, exec_step *laid,
                         size_t count, CUgraphNode *out_node) {
  const weir__cuda_driver *driver = build->device->driver;
  laid->straight = !call->child && weir__cuda_can_capture_straight(build->device);
  if (laid->straight) return weir__cuda_session_capture(build->session, call, build->before, count, out_node);
  call->child = true;
  CUresult result = weir__cuda_session_end(build->session);
  if (result == CUDA_SUCCESS) result = weir__cuda_choose_variant(build->device, call);
  if (result != CUDA_SUCCESS) return result;
  CUgraph graph = call->variants[call->current].graph;
  if (graph == NULL) return driver->cuGraphAddEmptyNode(out_node, build->exec->graph, build->before, count);
  result = driver->cuGraphAddChildGraphNode(out_node, build->exec->graph, build->before, count, graph);
  laid->call_node = *out_node;
  laid->set_serial = call->variants[call->current].serial;
  return result;
}

static CUresult add_step(const weir__cuda_exec_builder *build, const weir__cuda_step *step, uint32_t index) {
  weir__cuda_exec *exec = build->exec;
  const weir__cuda_driver *driver = build->device->driver;
  exec_step *laid = &exec->steps[index];
  if (laid->mover != 0 && exec->movers[laid->mover - 1].last) return CUDA_SUCCESS;
  size_t count = weir__cuda_exec_before(build, laid, 0);
  CUresult result = CUDA_SUCCESS;
  CUgraphNode node = NULL;
  if (exec->marks != NULL) {
    result = add_mark(build, 2 * index, build->before, count, &node);
    build->before[0] = node;
    count = 1;
  }
  if (step->call != NULL && result == CUDA_SUCCESS) {
    result = add_call(build, step->call, laid, count, &node);
  } else if (step->bytes != NULL && result == CUDA_SUCCESS) {
    result = weir__cuda_exec_add_bytes(build, step->bytes, laid, count, &node);
  } else if (step->adopted != NULL && result == CUDA_SUCCESS) {
    result = weir__cuda_adopted_add(step->adopted, exec->graph, build->before, count, &node);
  } else if (laid->launch_count == 0 && result == CUDA_SUCCESS) {
    result = driver->cuGraphAddEmptyNode(&node, exec->graph, build->before, count);
  }
  for (uint32_t i = 0; i < laid->launch_count && result == CUDA_SUCCESS; i++) {
    const weir__cuda_launch *launch = &step->kernel->launches[i];
    exec_launch *set = &exec->launches[laid->first_launch + i];
    void *value;
    CUDA_KERNEL_NODE_PARAMS params = node_params(build->device, launch, step, &value);
    result = driver->cuGraphAddKernelNode(&set->node, exec->graph, build->before, count, &params);
    note_set(build->device, exec, set, launch, step);
    build->before[0] = node = set->node;
    count = 1;
  }
  if (exec->marks != NULL && result == CUDA_SUCCESS) {
    build->before[0] = node;
    result = add_mark(build, 2 * index + 1, build->before, 1, &node);
  }
  build->ends[index] = node;
  return result;
}

static CUresult build_graph(const weir__cuda_exec_builder *build, const weir__cuda_step *steps, const uint32_t *order) {
  const weir__cuda_driver *driver = build->device->driver;
  CUresult result = driver->cuGraphCreate(&build->exec->graph, 0);
  for (uint32_t i = 0; i < build->exec->step_count && result == CUDA_SUCCESS; i++) {
    uint32_t index = order != NULL ? order[i] : i;
    result = add_step(build, &steps[index], index);
  }
  CUresult ended = weir__cuda_session_end(build->session);
  if (result == CUDA_SUCCESS) result = ended;
  if (result == CUDA_SUCCESS) result = weir__cuda_exec_add_last(build);
  if (result == CUDA_SUCCESS) result = driver->cuGraphInstantiateWithFlags(&build->exec->exec, build->exec->graph, 0);
  return result;
}

CUresult weir__cuda_exec_create(weir__cuda_device *device, const weir__cuda_step *steps, const uint32_t *order,
                                uint32_t count, uint32_t flags, weir__cuda_exec **out_exec) {
  *out_exec = NULL;
  weir__cuda_exec_builder build = {.device = device, .exec = weir__allocate_zeroed(sizeof *build.exec)};
  if (build.exec == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  weir__cuda_session session = {.device = device, .graph = &build.exec->graph};
  build.session = &session;
  build.ends = weir__allocate(count * sizeof(CUgraphNode));
  build.before = weir__allocate((count + 1) * sizeof(CUgraphNode));
  CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
  if (build.ends != NULL && build.before != NULL &&
      lay_out(build.exec, steps, count, (flags & WEIR__CUDA_EXEC_MARKS) != 0) &&
      ((flags & WEIR__CUDA_EXEC_MOVES) == 0 || weir__cuda_exec_plan_moves(device, build.exec, steps)))
    result = build_graph(&build, steps, order);
  weir__free(build.ends);
  weir__free(build.before);
  if (result != CUDA_SUCCESS) {
    weir__cuda_exec_destroy(device, build.exec);
    return result;
  }
  *out_exec = build.exec;
  return CUDA_SUCCESS;
}

bool weir__cuda_exec_fits(const weir__cuda_exec *exec, const weir__cuda_step *steps, uint32_t count) {
  if (exec->step_count != count) return false;
  for (uint32_t i = 0; i < count; i++) {
    const exec_step *laid = &exec->steps[i];
    uint32_t edges = laid->edge_count - laid->has_lane_edge;
    if (laid->launch_count != launches_of(&steps[i]) || edges != steps[i].predecessor_count) return false;
    if (laid->calls != (steps[i].enqueue != NULL)) return false;
    for (uint32_t j = 0; j < edges; j++) {
      if (exec->edges[laid->first_edge + j] != steps[i].predecessors[j]) return false;
    }
  }
  return true;
}

weir__graph_likeness weir__cuda_exec_likeness(const weir__cuda_device *device, const weir__cuda_exec *exec,
                                              const weir__cuda_step *steps) {
  weir__graph_likeness likeness = WEIR__SAME_GRAPH;
  for (uint32_t i = 0; i < exec->step_count; i++) {
    for (uint32_t j = 0; j < exec->steps[i].launch_count; j++) {
      const weir__cuda_launch *launch = &steps[i].kernel->launches[j];
      const exec_launch *set = &exec->launches[exec->steps[i].first_launch + j];
      if (!same_shape(device, set, launch, &steps[i])) return WEIR__OTHER_SHAPE;
      if (likeness == WEIR__SAME_GRAPH &&
          (set->unknown || !same_parameters(launch, &steps[i], exec->bytes + set->first_byte)))
        likeness = WEIR__SAME_SHAPE;
    }
  }
  return likeness;
}

// Room for parameters whose sizes have changed is made anew.
static bool make_room(weir__cuda_exec *exec, const weir__cuda_step *steps) {
  uint32_t byte = 0;
  bool changed = false;
  for (uint32_t i = 0; i < exec->step_count; i++) {
    for (uint32_t j = 0; j < exec->steps[i].launch_count; j++) {
      exec_launch *set = &exec->launches[exec->steps[i].first_launch + j];
      uint32_t bytes = parameter_bytes(&steps[i].kernel->launches[j]);
      changed = changed || set->unknown != (bytes == UINT32_MAX) || (!set->unknown && set->byte_count != bytes);
      byte += bytes == UINT32_MAX ? 0 : bytes;
    }
  }
  if (!changed) return true;
  unsigned char *larger = weir__allocate(byte + 1);
  if (larger == NULL) return false;
  weir__free(exec->bytes);
  exec->bytes = larger;
  byte = 0;
  for (uint32_t i = 0; i < exec->step_count; i++) {
    for (uint32_t j = 0; j < exec->steps[i].launch_count; j++) {
      exec_launch *set = &exec->launches[exec->steps[i].first_launch + j];
      uint32_t bytes = parameter_bytes(&steps[i].kernel->launches[j]);
      set->unknown = bytes == UINT32_MAX;
      set->byte_count = set->unknown ? 0 : bytes;
      set->first_byte = byte;
      set->function = NULL; // all must be set again
      byte += set->byte_count;
    }
  }
  return true;
}

// UPDATE_FAILURE: the graph must be made anew.
static CUresult set_call(weir__cuda_device *device, const weir__cuda_exec *exec, exec_step *set,
                         weir__cuda_call_step *call, uint32_t *out_set) {
  if (set->straight) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  CUresult result = weir__cuda_choose_variant(device, call);
  if (result != CUDA_SUCCESS) return result;
  const weir__cuda_variant *variant = &call->variants[call->current];
  CUgraph graph = variant->graph;
  if ((graph == NULL && set->call_node == NULL) || variant->serial == set->set_serial) return CUDA_SUCCESS;
  if (graph == NULL || set->call_node == NULL) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  result = device->driver->cuGraphExecChildGraphNodeSetParams(exec->exec, set->call_node, graph);
  *out_set += result == CUDA_SUCCESS;
  if (result == CUDA_SUCCESS) set->set_serial = variant->serial;
  return result == CUDA_SUCCESS || weir__cuda_is_sticky(result) ? result : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult weir__cuda_exec_set(weir__cuda_device *device, weir__cuda_exec *exec, const weir__cuda_step *steps,
                             const bool *changed, uint32_t *out_set) {
  *out_set = 0;
  if (changed == NULL && !make_room(exec, steps)) return CUDA_ERROR_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < exec->step_count; i++) {
    if (changed != NULL && !changed[i]) continue;
    if (steps[i].call != NULL) {
      CUresult result = set_call(device, exec, &exec->steps[i], steps[i].call, out_set);
      if (result != CUDA_SUCCESS) return result;
    }
    if (steps[i].bytes != NULL) {
      CUresult result = weir__cuda_exec_set_bytes(device, exec, &exec->steps[i], steps[i].bytes, out_set);
      if (result != CUDA_SUCCESS) return result;
    }
    for (uint32_t j = 0; j < exec->steps[i].launch_count; j++) {
      const weir__cuda_launch *launch = &steps[i].kernel->launches[j];
      exec_launch *set = &exec->launches[exec->steps[i].first_launch + j];
      if (same_shape(device, set, launch, &steps[i]) && !set->unknown &&
          same_parameters(launch, &steps[i], exec->bytes + set->first_byte))
        continue;
      void *value;
      CUDA_KERNEL_NODE_PARAMS params = node_params(device, launch, &steps[i], &value);
      CUresult result = device->driver->cuGraphExecKernelNodeSetParams(exec->exec, set->node, &params);
      if (result != CUDA_SUCCESS) return result;
      note_set(device, exec, set, launch, &steps[i]);
      ++*out_set;
    }
  }
  return exec->outgrown ? CUDA_ERROR_INVALID_VALUE : weir__cuda_exec_set_movers(device, exec, out_set);
}
