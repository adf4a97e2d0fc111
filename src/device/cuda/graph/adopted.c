// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/graph/adopted.h"

// ---------------------------------------------------------------------------------------------------------------
// Copies of nodes

static CUresult copy_kernel(const weir__cuda_driver *driver, CUgraphNode from, CUgraph graph, const CUgraphNode *before,
                            size_t count, CUgraphNode *out_node) {
  CUDA_KERNEL_NODE_PARAMS params = {0};
  CUresult result = driver->cuGraphKernelNodeGetParams(from, &params);
  if (result == CUDA_SUCCESS) result = driver->cuGraphAddKernelNode(out_node, graph, before, count, &params);
  return result == CUDA_SUCCESS ? driver->cuGraphKernelNodeCopyAttributes(*out_node, from) : result;
}

static CUresult copy_copy(const weir__cuda_device *device, CUgraphNode from, CUgraph graph, const CUgraphNode *before,
                          size_t count, CUgraphNode *out_node) {
  CUDA_MEMCPY3D params = {0};
  CUresult result = device->driver->cuGraphMemcpyNodeGetParams(from, &params);
  if (result != CUDA_SUCCESS) return result;
  return device->driver->cuGraphAddMemcpyNode(out_node, graph, before, count, &params, device->primary);
}

static CUresult copy_set(const weir__cuda_device *device, CUgraphNode from, CUgraph graph, const CUgraphNode *before,
                         size_t count, CUgraphNode *out_node) {
  CUDA_MEMSET_NODE_PARAMS params = {0};
  CUresult result = device->driver->cuGraphMemsetNodeGetParams(from, &params);
  if (result != CUDA_SUCCESS) return result;
  return device->driver->cuGraphAddMemsetNode(out_node, graph, before, count, &params, device->primary);
}

static CUresult copy_host(const weir__cuda_driver *driver, CUgraphNode from, CUgraph graph, const CUgraphNode *before,
                          size_t count, CUgraphNode *out_node) {
  CUDA_HOST_NODE_PARAMS params = {0};
  CUresult result = driver->cuGraphHostNodeGetParams(from, &params);
  return result == CUDA_SUCCESS ? driver->cuGraphAddHostNode(out_node, graph, before, count, &params) : result;
}

CUresult weir__cuda_copy_node(const weir__cuda_device *device, weir_cuda_node_kind kind, CUgraphNode from,
                              CUgraph graph, const CUgraphNode *before, size_t count, CUgraphNode *out_node) {
  switch (kind) {
  case WEIR_CUDA_NODE_KERNEL:
    return copy_kernel(device->driver, from, graph, before, count, out_node);
  case WEIR_CUDA_NODE_COPY:
    return copy_copy(device, from, graph, before, count, out_node);
  case WEIR_CUDA_NODE_SET:
    return copy_set(device, from, graph, before, count, out_node);
  case WEIR_CUDA_NODE_HOST:
    return copy_host(device->driver, from, graph, before, count, out_node);
  case WEIR_CUDA_NODE_EMPTY:
  case WEIR_CUDA_NODE_OTHER: // has no copy: adoption refuses it
    break;
  }
  return device->driver->cuGraphAddEmptyNode(out_node, graph, before, count);
}

CUresult weir__cuda_adopted_add(weir__cuda_adopted_node *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                CUgraphNode *out_node) {
  weir__lock_acquire(&node->of->lock);
  CUresult result = weir__cuda_copy_node(node->of->device, node->kind, node->node, graph, before, count, out_node);
  weir__lock_release(&node->of->lock);
  return result;
}

// ---------------------------------------------------------------------------------------------------------------
// One by one

static bool is_launched_alone(const weir__cuda_adopted_node *node) {
  return node->kind != WEIR_CUDA_NODE_EMPTY && (node->kind != WEIR_CUDA_NODE_KERNEL || node->attributes);
}

// A graph of the node alone. The lock of `node->of` is held, as for what follows.
static CUresult make_alone(weir__cuda_adopted_node *node) {
  const weir__cuda_device *device = node->of->device;
  const weir__cuda_driver *driver = device->driver;
  CUgraph graph;
  CUgraphNode copy;
  CUresult result = driver->cuGraphCreate(&graph, 0);
  if (result != CUDA_SUCCESS) return result;
  result = weir__cuda_copy_node(device, node->kind, node->node, graph, NULL, 0, &copy);
  if (result == CUDA_SUCCESS) result = driver->cuGraphInstantiateWithFlags(&node->alone, graph, 0);
  driver->cuGraphDestroy(graph);
  return result;
}

static CUresult prepare(weir__cuda_adopted_node *node) {
  return node->alone == NULL && is_launched_alone(node) ? make_alone(node) : CUDA_SUCCESS;
}

// The driver takes a CUkernel in place of a function.
static CUresult launch_kernel(const weir__cuda_driver *driver, CUgraphNode node, CUstream stream) {
  CUDA_KERNEL_NODE_PARAMS p = {0};
  CUresult result = driver->cuGraphKernelNodeGetParams(node, &p);
  if (result != CUDA_SUCCESS) return result;
  CUfunction function = p.func != NULL ? p.func : (CUfunction)(void *)p.kern;
  return driver->cuLaunchKernel(function, p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY, p.blockDimZ,
                                p.sharedMemBytes, stream, p.kernelParams, p.extra);
}

static CUresult launch(weir__cuda_adopted_node *node, CUstream stream) {
  const weir__cuda_driver *driver = node->of->device->driver;
  if (!is_launched_alone(node)) return launch_kernel(driver, node->node, stream);
  CUresult result = prepare(node);
  return result == CUDA_SUCCESS ? driver->cuGraphLaunch(node->alone, stream) : result;
}

CUresult weir__cuda_adopted_prepare(weir__cuda_adopted_node *node) {
  weir__lock_acquire(&node->of->lock);
  CUresult result = prepare(node);
  weir__lock_release(&node->of->lock);
  return result;
}

CUresult weir__cuda_adopted_launch(weir__cuda_adopted_node *node, CUstream stream) {
  if (node->kind == WEIR_CUDA_NODE_EMPTY) return CUDA_SUCCESS;
  weir__lock_acquire(&node->of->lock);
  CUresult result = launch(node, stream);
  weir__lock_release(&node->of->lock);
  return result;
}
