// SPDX-License-Identifier: Apache-2.0
#include "adopt.h"

#include <string.h>

void chain_begin(const share *s, chain *c) {
  memset(c, 0, sizeof *c);
  c->s = s;
  share_good(s->driver->cuModuleGetFunction(&c->set, s->module, "set"));
  share_good(s->driver->cuModuleGetFunction(&c->sum, s->module, "sum"));
  share_good(s->driver->cuGraphCreate(&c->graph, 0));
}

static void added(chain *c, CUresult result, CUgraphNode node) {
  share_good(result);
  c->last = node;
  c->count++;
}

void chain_kernel(chain *c, CUfunction function, void **parameters) {
  CUDA_KERNEL_NODE_PARAMS params = {.func = function,
                                    .gridDimX = 1,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 1,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .kernelParams = parameters};
  CUgraphNode node = NULL;
  CUresult result = c->s->driver->cuGraphAddKernelNode(&node, c->graph, &c->last, c->last != NULL, &params);
  added(c, result, node);
}

void chain_step(chain *c, CUdeviceptr data, uint32_t count, uint32_t value) {
  chain_kernel(c, c->s->own_step, (void *[]){&data, &count, &value});
}

void chain_set(chain *c, CUdeviceptr data, uint32_t count, uint32_t value) {
  chain_kernel(c, c->set, (void *[]){&data, &count, &value});
}

void chain_sum(chain *c, CUdeviceptr out, CUdeviceptr a, CUdeviceptr b, uint32_t count) {
  chain_kernel(c, c->sum, (void *[]){&out, &a, &b, &count});
}

static bool is_host(CUdeviceptr pointer) {
  return pointer >> 56 == 0; // of the driver of stub/
}

void chain_copy(chain *c, CUdeviceptr to, CUdeviceptr from, uint64_t bytes) {
  CUDA_MEMCPY3D copy = {.srcMemoryType = is_host(from) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                        .srcHost = (const void *)(uintptr_t)from,
                        .srcDevice = from,
                        .dstMemoryType = is_host(to) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                        .dstHost = (void *)(uintptr_t)to,
                        .dstDevice = to,
                        .WidthInBytes = bytes,
                        .Height = 1,
                        .Depth = 1};
  CUgraphNode node = NULL;
  CUresult result =
      c->s->driver->cuGraphAddMemcpyNode(&node, c->graph, &c->last, c->last != NULL, &copy, c->s->primary);
  added(c, result, node);
}

void chain_fill(chain *c, CUdeviceptr to, uint32_t words, uint32_t pattern) {
  CUDA_MEMSET_NODE_PARAMS set = {.dst = to, .value = pattern, .elementSize = 4, .width = words, .height = 1};
  CUgraphNode node = NULL;
  CUresult result = c->s->driver->cuGraphAddMemsetNode(&node, c->graph, &c->last, c->last != NULL, &set, c->s->primary);
  added(c, result, node);
}

void chain_host(chain *c, void (*function)(void *user), void *user) {
  CUDA_HOST_NODE_PARAMS host = {.fn = function, .userData = user};
  CUgraphNode node = NULL;
  CUresult result = c->s->driver->cuGraphAddHostNode(&node, c->graph, &c->last, c->last != NULL, &host);
  added(c, result, node);
}

void chain_say(chain *c, CUdeviceptr pointer, uint64_t bytes, weir_mode mode) {
  assert_true(c->access_count < CHAIN_MOST);
  c->accesses[c->access_count++] =
      (weir_cuda_access){.node = c->count - 1, .pointer = pointer, .bytes = bytes, .mode = mode};
}

void chain_said_step(chain *c, CUdeviceptr data, uint32_t count, uint32_t value) {
  chain_step(c, data, count, value);
  chain_say(c, data, count * sizeof(uint32_t), WEIR_READ_WRITE);
}

weir_cuda_nodes *chain_read(chain *c) {
  weir_cuda_nodes *nodes = NULL;
  weir_status status = weir_cuda_nodes_read(c->s->cuda, c->graph, &nodes);
  share_good(c->s->driver->cuGraphDestroy(c->graph));
  c->graph = NULL;
  share_ok(status);
  return nodes;
}

weir_status chain_try(chain *c, weir_cuda_adopt_options options, weir_graph **out) {
  weir_cuda_nodes *nodes = chain_read(c);
  options.accesses = c->accesses;
  options.access_count = c->access_count;
  weir_status status = weir_cuda_graph_adopt(nodes, &options, out);
  weir_cuda_nodes_release(nodes);
  return status;
}

weir_graph *chain_adopt(chain *c, weir_cuda_adopt_options options) {
  weir_graph *graph;
  share_ok(chain_try(c, options, &graph));
  return graph;
}

void adopt_launch(weir_graph *graph) {
  weir_event *event;
  share_ok(weir_graph_launch(graph, &event));
  weir_status status = weir_event_wait(event, WEIR_FOREVER);
  if (status != WEIR_OK) fail_msg("%s", weir_event_message(event));
  weir_event_release(event);
}

uint64_t adopt_edges(weir_graph *graph) {
  weir_graph_info info;
  share_ok(weir_graph_build(graph));
  share_ok(weir_graph_information(graph, &info));
  return info.edges;
}
