// SPDX-License-Identifier: Apache-2.0
//
// What graphs tell of their nodes and edges.
#include <stdlib.h>
#include <string.h>

#include "internal.h"

bool stub_graph_has_other(const struct CUgraph_st *graph) {
  bool other = false;
  for (uint32_t i = 0; i < graph->count && !other; i++) other = graph->nodes[i]->work->kind == STUB_OTHER;
  return other;
}

void stub_node_set_attributes(void *handle, bool cooperative, uint32_t cluster_x) {
  CUgraphNode node = handle;
  pthread_mutex_lock(&stub.lock);
  node->work->cooperative = cooperative;
  memcpy(node->work->cluster, (uint32_t[]){cluster_x, cluster_x > 0, cluster_x > 0}, sizeof node->work->cluster);
  pthread_mutex_unlock(&stub.lock);
}

void stub_add_other_node(void *handle, int type) {
  CUgraph graph = handle;
  CUgraphNode node;
  pthread_mutex_lock(&stub.lock);
  stub_work *work = stub_work_create(STUB_OTHER);
  work->type = (CUgraphNodeType)type;
  if (stub_graph_add(&node, graph, graph->count > 0 ? &graph->nodes[graph->count - 1] : NULL, graph->count > 0, work,
                     "stub_add_other_node") != CUDA_SUCCESS)
    abort();
  pthread_mutex_unlock(&stub.lock);
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges, size_t *count) {
  STUB_ENTER(cuGraphGetEdges_v2, STUB_CONTEXT);
  if (!stub_object_check(graph, STUB_GRAPH, "cuGraphGetEdges")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (count == NULL || (from == NULL) != (to == NULL)) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  size_t all = 0;
  for (uint32_t i = 0; i < graph->count; i++) {
    const struct CUgraphNode_st *node = graph->nodes[i];
    for (uint32_t j = 0; j < node->predecessor_count; j++, all++) {
      if (from == NULL || all >= *count) continue;
      from[all] = graph->nodes[node->predecessors[j]];
      to[all] = graph->nodes[i];
      if (edges != NULL) edges[all] = (CUgraphEdgeData){0};
    }
  }
  *count = all;
  return stub_leave(CUDA_SUCCESS);
}

// Edges as CUDA takes them: between two nodes of the graph.
static bool check_edge(CUgraph graph, CUgraphNode from, CUgraphNode to, const char *function) {
  if (!stub_object_check(from, STUB_NODE, function) || !stub_object_check(to, STUB_NODE, function)) return false;
  if (from->graph == graph && to->graph == graph && from != to) return true;
  stub_violation("%s: an edge between nodes that are not two of the graph", function);
  return false;
}

// Where an edge is among those of the node that it leads to. Their count: there is no such edge.
static uint32_t find_edge(CUgraphNode from, CUgraphNode to) {
  uint32_t at = 0;
  while (at < to->predecessor_count && to->predecessors[at] != from->index) at++;
  return at;
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edges, size_t count) {
  STUB_ENTER(cuGraphAddDependencies_v2, STUB_CONTEXT);
  if (!stub_object_check(graph, STUB_GRAPH, "cuGraphAddDependencies")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  for (size_t i = 0; i < count; i++) {
    if (!check_edge(graph, from[i], to[i], "cuGraphAddDependencies") ||
        find_edge(from[i], to[i]) < to[i]->predecessor_count || (edges != NULL && edges[i].type != 0))
      return stub_leave(CUDA_ERROR_INVALID_VALUE);
    uint32_t more = to[i]->predecessor_count + 1;
    to[i]->predecessors = stub_grow(to[i]->predecessors, more * sizeof(uint32_t));
    to[i]->predecessors[to[i]->predecessor_count++] = from[i]->index;
  }
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                      const CUgraphEdgeData *edges, size_t count) {
  STUB_ENTER(cuGraphRemoveDependencies_v2, STUB_CONTEXT);
  if (!stub_object_check(graph, STUB_GRAPH, "cuGraphRemoveDependencies")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  for (size_t i = 0; i < count; i++) {
    if (!check_edge(graph, from[i], to[i], "cuGraphRemoveDependencies") || (edges != NULL && edges[i].type != 0))
      return stub_leave(CUDA_ERROR_INVALID_VALUE);
    uint32_t at = find_edge(from[i], to[i]);
    if (at == to[i]->predecessor_count) return stub_leave(CUDA_ERROR_INVALID_VALUE);
    to[i]->predecessors[at] = to[i]->predecessors[--to[i]->predecessor_count];
  }
  return stub_leave(CUDA_SUCCESS);
}

// Takes a node, and all edges from it and to it, out of its graph.
static void remove_node(CUgraphNode node) {
  CUgraph graph = node->graph;
  uint32_t gone = node->index;
  graph->count--;
  for (uint32_t i = gone; i < graph->count; i++) {
    graph->nodes[i] = graph->nodes[i + 1];
    graph->nodes[i]->index = i;
  }
  for (uint32_t i = 0; i < graph->count; i++) {
    CUgraphNode other = graph->nodes[i];
    uint32_t kept = 0;
    for (uint32_t j = 0; j < other->predecessor_count; j++) {
      uint32_t predecessor = other->predecessors[j];
      if (predecessor != gone) other->predecessors[kept++] = predecessor - (predecessor > gone);
    }
    other->predecessor_count = kept;
  }
}

CUresult cuGraphDestroyNode(CUgraphNode node) {
  STUB_ENTER(cuGraphDestroyNode, STUB_CONTEXT);
  if (!stub_object_check(node, STUB_NODE, "cuGraphDestroyNode")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  remove_node(node);
  stub_work_release(node->work);
  free(node->predecessors);
  stub_object_destroy(node);
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuGraphClone(CUgraph *clone, CUgraph graph) {
  STUB_ENTER(cuGraphClone, STUB_CONTEXT);
  if (!stub_object_check(graph, STUB_GRAPH, "cuGraphClone")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (clone == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  if (stub_graph_has_other(graph)) return stub_leave(CUDA_ERROR_NOT_SUPPORTED);
  *clone = stub_graph_clone(graph);
  return stub_leave(CUDA_SUCCESS);
}

static CUgraphNodeType type_of(const stub_work *work) {
  switch (work->kind) {
  case STUB_KERNEL:
    return CU_GRAPH_NODE_TYPE_KERNEL;
  case STUB_COPY:
    return CU_GRAPH_NODE_TYPE_MEMCPY;
  case STUB_SET:
    return CU_GRAPH_NODE_TYPE_MEMSET;
  case STUB_RECORD:
    return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  case STUB_CHILD:
    return CU_GRAPH_NODE_TYPE_GRAPH;
  case STUB_HOST:
    return CU_GRAPH_NODE_TYPE_HOST;
  case STUB_OTHER:
    return work->type;
  case STUB_EMPTY:
    break;
  }
  return CU_GRAPH_NODE_TYPE_EMPTY;
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type) {
  STUB_ENTER(cuGraphNodeGetType, STUB_CONTEXT);
  if (!stub_object_check(node, STUB_NODE, "cuGraphNodeGetType")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  *type = type_of(node->work);
  return stub_leave(CUDA_SUCCESS);
}

// A node of this kind, or none, and a violation.
static const stub_work *work_of(CUgraphNode node, stub_work_kind kind, const char *function) {
  if (!stub_object_check(node, STUB_NODE, function)) return NULL;
  if (node->work->kind == kind) return node->work;
  stub_violation("%s: a node of another kind", function);
  return NULL;
}

// The addresses of the parameters are good as long as the node.
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *p) {
  STUB_ENTER(cuGraphKernelNodeGetParams_v2, STUB_CONTEXT);
  const stub_work *work = work_of(node, STUB_KERNEL, "cuGraphKernelNodeGetParams");
  if (work == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  *p = (CUDA_KERNEL_NODE_PARAMS){.func = work->by_kernel ? NULL : work->function,
                                 .kern = work->by_kernel ? (CUkernel)(void *)work->function : NULL,
                                 .gridDimX = work->grid[0],
                                 .gridDimY = work->grid[1],
                                 .gridDimZ = work->grid[2],
                                 .blockDimX = work->block[0],
                                 .blockDimY = work->block[1],
                                 .blockDimZ = work->block[2],
                                 .sharedMemBytes = work->shared_bytes,
                                 .kernelParams = (void **)(uintptr_t)work->params,
                                 .ctx = work->function->module->context};
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUlaunchAttributeID attribute, CUlaunchAttributeValue *value) {
  STUB_ENTER(cuGraphKernelNodeGetAttribute, STUB_CONTEXT);
  const stub_work *work = work_of(node, STUB_KERNEL, "cuGraphKernelNodeGetAttribute");
  if (work == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  memset(value, 0, sizeof *value);
  if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) value->cooperative = work->cooperative;
  if (attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
    memcpy(&value->clusterDim, work->cluster, sizeof value->clusterDim);
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode destination, CUgraphNode source) {
  STUB_ENTER(cuGraphKernelNodeCopyAttributes, STUB_CONTEXT);
  const char *function = "cuGraphKernelNodeCopyAttributes";
  const stub_work *from = work_of(source, STUB_KERNEL, function), *to = work_of(destination, STUB_KERNEL, function);
  if (from == NULL || to == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  destination->work->cooperative = from->cooperative;
  memcpy(destination->work->cluster, from->cluster, sizeof from->cluster);
  return stub_leave(CUDA_SUCCESS);
}

static CUmemorytype memory_of(uint64_t address) {
  return (address & STUB_DEVICE_BIT) != 0 ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *p) {
  STUB_ENTER(cuGraphMemcpyNodeGetParams, STUB_CONTEXT);
  const stub_work *work = work_of(node, STUB_COPY, "cuGraphMemcpyNodeGetParams");
  if (work == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  *p = (CUDA_MEMCPY3D){.srcMemoryType = memory_of(work->source),
                       .dstMemoryType = memory_of(work->destination),
                       .WidthInBytes = work->bytes,
                       .Height = 1,
                       .Depth = 1};
  if (p->srcMemoryType == CU_MEMORYTYPE_DEVICE)
    p->srcDevice = work->source;
  else
    p->srcHost = (const void *)(uintptr_t)work->source;
  if (p->dstMemoryType == CU_MEMORYTYPE_DEVICE)
    p->dstDevice = work->destination;
  else
    p->dstHost = (void *)(uintptr_t)work->destination;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *p) {
  STUB_ENTER(cuGraphMemsetNodeGetParams, STUB_CONTEXT);
  const stub_work *work = work_of(node, STUB_SET, "cuGraphMemsetNodeGetParams");
  if (work == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  uint32_t element = (work->destination | work->bytes) % sizeof(uint32_t) == 0 ? sizeof(uint32_t) : 1;
  *p = (CUDA_MEMSET_NODE_PARAMS){.dst = work->destination,
                                 .value = element == 1 ? work->value & 0xff : work->value,
                                 .elementSize = element,
                                 .width = work->bytes / element,
                                 .height = 1};
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *p) {
  STUB_ENTER(cuGraphHostNodeGetParams, STUB_CONTEXT);
  const stub_work *work = work_of(node, STUB_HOST, "cuGraphHostNodeGetParams");
  if (work == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  *p = (CUDA_HOST_NODE_PARAMS){.fn = work->host, .userData = work->user};
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                            const CUDA_HOST_NODE_PARAMS *p) {
  STUB_ENTER(cuGraphAddHostNode, STUB_CONTEXT);
  const char *function = "cuGraphAddHostNode";
  if (!stub_object_check(graph, STUB_GRAPH, function)) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (p == NULL || p->fn == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  stub_work *work = stub_work_create(STUB_HOST);
  work->host = p->fn;
  work->user = p->userData;
  return stub_leave(stub_graph_add(node, graph, dependencies, count, work, function));
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph) {
  STUB_ENTER(cuGraphChildGraphNodeGetGraph, STUB_CONTEXT);
  const stub_work *work = work_of(node, STUB_CHILD, "cuGraphChildGraphNodeGetGraph");
  if (work == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  *graph = work->child;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuFuncGetName(const char **name, CUfunction function) {
  STUB_ENTER(cuFuncGetName, STUB_CONTEXT);
  if (!stub_object_check(function, STUB_FUNCTION, "cuFuncGetName")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  *name = function->name;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
  STUB_ENTER(cuKernelGetFunction, STUB_CONTEXT);
  CUfunction found = (CUfunction)(void *)kernel;
  if (!stub_object_check(found, STUB_FUNCTION, "cuKernelGetFunction")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  *function = found;
  return stub_leave(CUDA_SUCCESS);
}
