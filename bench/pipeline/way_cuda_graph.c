// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "way_cuda_lines.h"
#include "ways.h"

enum { READS = 1, WRITES = 2, MOST_RESOURCES = JOB_MOST_BUFFERS + JOB_MOST_HOSTS };

// ---------------------------------------------------------------------------------------------------------------
// Dependences

// What a step does with each buffer and, behind them, each host memory.
typedef struct touches {
  unsigned char of[MOST_RESOURCES];
} touches;

static touches find_touches(const job_step *step) {
  touches found = {{0}};
  unsigned char *host = &found.of[JOB_MOST_BUFFERS + step->host];
  switch (step->kind) {
  case JOB_COPY_IN:
    *host |= READS;
    found.of[step->buffer] |= WRITES;
    break;
  case JOB_COPY_OUT:
    found.of[step->buffer] |= READS;
    *host |= WRITES;
    break;
  case JOB_KERNEL:
    for (uint32_t i = 0; i < step->arg_count; i++) {
      const job_arg *arg = &step->args[i];
      if (!arg->is_value) found.of[arg->buffer] |= arg->mode == WEIR_READ ? READS : READS | WRITES;
    }
  }
  return found;
}

static bool in_order(const touches *first, const touches *second) {
  for (int i = 0; i < MOST_RESOURCES; i++) {
    unsigned both = first->of[i] | second->of[i];
    if (first->of[i] != 0 && second->of[i] != 0 && (both & WRITES) != 0) return true;
  }
  return false;
}

// follows[s * count + p]: step s comes after step p, maybe through others. Fills `direct` likewise.
static void find_orders(const touches *all, uint32_t count, bool *follows, bool *direct) {
  for (uint32_t s = 0; s < count; s++) {
    bool *mine = follows + (size_t)s * count;
    for (uint32_t p = s; p-- > 0;) {
      if (mine[p] || !in_order(&all[p], &all[s])) continue;
      direct[(size_t)s * count + p] = true;
      mine[p] = true;
      for (uint32_t q = 0; q < p; q++) mine[q] = mine[q] || follows[(size_t)p * count + q];
    }
  }
}

bool *way_cuda_direct_edges(const job_shape *shape) {
  uint32_t count = shape->step_count;
  size_t pairs = (size_t)count * count;
  touches *all = calloc((size_t)count + 1, sizeof *all);
  bool *follows = calloc(pairs + 1, sizeof *follows), *direct = calloc(pairs + 1, sizeof *direct);
  bool made = all && follows && direct;
  for (uint32_t s = 0; made && s < count; s++) all[s] = find_touches(&shape->steps[s]);
  if (made) find_orders(all, count, follows, direct);
  free(all);
  free(follows);
  if (made) return direct;
  free(direct);
  return NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// The graph

static CUDA_MEMCPY3D copy_of(CUdeviceptr destination, CUdeviceptr source, uint64_t bytes) {
  return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                         .srcDevice = source,
                         .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                         .dstDevice = destination,
                         .WidthInBytes = bytes,
                         .Height = 1,
                         .Depth = 1};
}

static CUDA_MEMCPY3D copy_in(const way_cuda *own, uint32_t line, uint32_t s) {
  const job_step *step = &own->shape->steps[s];
  const way_cuda_line *at = &own->lines[line];
  return copy_of(at->buffers[step->buffer], (CUdeviceptr)(uintptr_t)at->sources[s], own->shape->host_bytes[step->host]);
}

static CUresult add_kernel(way_cuda *own, uint32_t line, uint32_t s, const CUgraphNode *before, size_t count) {
  const job_step *step = &own->shape->steps[s];
  const uint32_t *block = step->code->block;
  way_cuda_line *at = &own->lines[line];
  CUDA_KERNEL_NODE_PARAMS launch = {.func = own->functions[s],
                                    .gridDimX = way_groups(step, 0),
                                    .gridDimY = way_groups(step, 1),
                                    .gridDimZ = way_groups(step, 2),
                                    .blockDimX = block[0],
                                    .blockDimY = block[1],
                                    .blockDimZ = block[2],
                                    .kernelParams = at->parameters + own->first_arg[s]};
  return own->driver->cuGraphAddKernelNode(&at->nodes[s], at->graph, before, count, &launch);
}

// `follows`: whether the step directly follows each of those before it. `before` has room for their nodes.
static CUresult add_step(way_cuda *own, uint32_t line, uint32_t s, const bool *follows, CUgraphNode *before) {
  const job_step *step = &own->shape->steps[s];
  way_cuda_line *at = &own->lines[line];
  uint32_t count = 0;
  for (uint32_t p = 0; p < s; p++)
    if (follows[p]) before[count++] = at->nodes[p];
  if (step->kind == JOB_KERNEL) return add_kernel(own, line, s, before, count);
  if (step->kind == JOB_COPY_IN) at->sources[s] = at->inputs[step->host];
  CUDA_MEMCPY3D copy = step->kind == JOB_COPY_IN
                           ? copy_in(own, line, s)
                           : copy_of((CUdeviceptr)(uintptr_t)at->results[step->host], at->buffers[step->buffer],
                                     own->shape->host_bytes[step->host]);
  return own->driver->cuGraphAddMemcpyNode(&at->nodes[s], at->graph, before, count, &copy, own->context);
}

bool way_cuda_graph_make(way_cuda *own, uint32_t line, char why[JOB_WHY]) {
  way_cuda_line *at = &own->lines[line];
  const uint32_t count = own->shape->step_count;
  CUgraphNode *before = calloc((size_t)count + 1, sizeof *before);
  bool *direct = way_cuda_direct_edges(own->shape);
  CUresult result = before && direct ? own->driver->cuGraphCreate(&at->graph, 0) : CUDA_ERROR_OUT_OF_MEMORY;
  for (uint32_t s = 0; s < count && result == CUDA_SUCCESS; s++)
    result = add_step(own, line, s, direct + (size_t)s * count, before);
  if (result == CUDA_SUCCESS) result = own->driver->cuGraphInstantiateWithFlags(&at->exec, at->graph, 0);
  free(before);
  free(direct);
  return way_cuda_good(own, result, "the graph", why);
}

void way_cuda_graph_free(way_cuda *own, uint32_t line) {
  way_cuda_line *at = &own->lines[line];
  if (at->exec) own->driver->cuGraphExecDestroy(at->exec);
  if (at->graph) own->driver->cuGraphDestroy(at->graph);
  at->exec = NULL;
  at->graph = NULL;
}

bool way_cuda_graph_launch(way_cuda *own, uint32_t line, CUstream stream, void *const *inputs, char why[JOB_WHY]) {
  way_cuda_line *at = &own->lines[line];
  way_cuda_stage(own, line, inputs);
  for (uint32_t s = 0; s < own->shape->step_count; s++) {
    if (own->shape->steps[s].kind != JOB_COPY_IN) continue;
    const void *source = at->from[own->shape->steps[s].host];
    if (source == at->sources[s]) continue;
    at->sources[s] = source;
    CUDA_MEMCPY3D copy = copy_in(own, line, s);
    CUresult result = own->driver->cuGraphExecMemcpyNodeSetParams(at->exec, at->nodes[s], &copy, own->context);
    if (!way_cuda_good(own, result, "cuGraphExecMemcpyNodeSetParams", why)) return false;
  }
  return way_cuda_good(own, own->driver->cuGraphLaunch(at->exec, stream), "cuGraphLaunch", why);
}
