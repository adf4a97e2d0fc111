// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "way_cuda_lines.h"

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

static CUresult add_step(way_cuda *own, uint32_t line, uint32_t s, CUgraphNode *before) {
  const job_step *step = &own->shape->steps[s];
  const way_steps *steps = &own->steps;
  way_cuda_line *at = &own->lines[line];
  uint32_t count = steps->first_before[s + 1] - steps->first_before[s];
  for (uint32_t i = 0; i < count; i++) before[i] = at->nodes[steps->before[steps->first_before[s] + i]];
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
  CUgraphNode *before = calloc((size_t)own->steps.count + 1, sizeof *before);
  CUresult result = before ? own->driver->cuGraphCreate(&at->graph, 0) : CUDA_ERROR_OUT_OF_MEMORY;
  for (uint32_t s = 0; s < own->steps.count && result == CUDA_SUCCESS; s++) result = add_step(own, line, s, before);
  if (result == CUDA_SUCCESS) result = own->driver->cuGraphInstantiateWithFlags(&at->exec, at->graph, 0);
  free(before);
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
  for (uint32_t s = 0; s < own->steps.count; s++) {
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
