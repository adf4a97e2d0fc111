// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "internal.h"

CUgraph stub_graph_create(void) {
  static uint64_t serial;
  CUgraph made = stub_object_create(STUB_GRAPH, sizeof *made);
  made->serial = ++serial;
  return made;
}

void stub_graph_destroy(CUgraph graph) {
  for (uint32_t i = 0; i < graph->count; i++) {
    CUgraphNode node = graph->nodes[i];
    stub_work_release(node->work);
    free(node->predecessors);
    stub_object_destroy(node);
  }
  free(graph->nodes);
  stub_object_destroy(graph);
}

CUgraph stub_graph_clone(CUgraph graph) {
  CUgraph clone = stub_graph_create();
  for (uint32_t i = 0; i < graph->count; i++) {
    const struct CUgraphNode_st *node = graph->nodes[i];
    CUgraphNode copy;
    if (stub_graph_add(&copy, clone, NULL, 0, stub_work_retain(node->work), "clone") != CUDA_SUCCESS) abort();
    copy->predecessors = stub_grow(copy->predecessors, (node->predecessor_count + 1) * sizeof(uint32_t));
    copy->predecessor_count = node->predecessor_count;
    if (node->predecessor_count > 0)
      memcpy(copy->predecessors, node->predecessors, node->predecessor_count * sizeof(uint32_t));
  }
  return clone;
}

CUresult cuGraphCreate(CUgraph *graph, unsigned int flags) {
  STUB_ENTER(cuGraphCreate, STUB_CONTEXT);
  if (graph == NULL || flags != 0) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  *graph = stub_graph_create();
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuGraphDestroy(CUgraph graph) {
  STUB_ENTER(cuGraphDestroy, STUB_CONTEXT | STUB_RELEASE);
  if (!stub_object_check(graph, STUB_GRAPH, "cuGraphDestroy")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  stub_graph_destroy(graph);
  return stub_leave(CUDA_SUCCESS);
}

bool stub_graph_check_dependencies(CUgraph graph, const CUgraphNode *dependencies, size_t count, const char *function) {
  if (count > 0 && dependencies == NULL) return false;
  for (size_t i = 0; i < count; i++) {
    if (!stub_object_check(dependencies[i], STUB_NODE, function)) return false;
    bool good = dependencies[i]->graph == graph;
    for (size_t j = 0; j < i && good; j++) good = dependencies[j] != dependencies[i];
    if (good) continue;
    stub_violation("%s: a dependency on a node of another graph, or twice on one node", function);
    return false;
  }
  return true;
}

CUresult stub_graph_add(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                        stub_work *work, const char *function) {
  if (out_node == NULL || !stub_graph_check_dependencies(graph, dependencies, count, function)) {
    stub_work_release(work);
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUgraphNode node = stub_object_create(STUB_NODE, sizeof *node);
  node->graph = graph;
  node->index = graph->count;
  node->work = work;
  node->predecessors = stub_allocate(count * sizeof(uint32_t));
  node->predecessor_count = (uint32_t)count;
  for (size_t i = 0; i < count; i++) node->predecessors[i] = dependencies[i]->index;
  if (graph->count == graph->capacity) {
    graph->capacity = 2 * graph->capacity + 16;
    graph->nodes = stub_grow(graph->nodes, graph->capacity * sizeof(CUgraphNode));
  }
  graph->nodes[graph->count++] = node;
  *out_node = node;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                 size_t dependency_count, const CUDA_KERNEL_NODE_PARAMS *parameters) {
  STUB_ENTER(cuGraphAddKernelNode_v2, STUB_CONTEXT);
  const char *function = "cuGraphAddKernelNode";
  if (!stub_object_check(graph, STUB_GRAPH, function)) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (parameters == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  stub_work *work;
  CUresult result = stub_work_kernel(parameters, NULL, &work);
  if (result != CUDA_SUCCESS) return stub_leave(result);
  return stub_leave(stub_graph_add(node, graph, dependencies, dependency_count, work, function));
}

CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                             size_t dependency_count) {
  STUB_ENTER(cuGraphAddEmptyNode, STUB_CONTEXT);
  const char *function = "cuGraphAddEmptyNode";
  if (!stub_object_check(graph, STUB_GRAPH, function)) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  return stub_leave(
      stub_graph_add(node, graph, dependencies, dependency_count, stub_work_create(STUB_EMPTY), function));
}

// The order is not said to be any.
static void shuffle(CUgraphNode *nodes, uint32_t count) {
  for (uint32_t i = count; i > 1; i--) {
    uint32_t other = random_below(&stub.random, i);
    CUgraphNode node = nodes[i - 1];
    nodes[i - 1] = nodes[other];
    nodes[other] = node;
  }
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  STUB_ENTER(cuGraphGetNodes, STUB_CONTEXT);
  if (!stub_object_check(graph, STUB_GRAPH, "cuGraphGetNodes")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  for (size_t i = 0; nodes != NULL && i < *count && i < graph->count; i++) nodes[i] = graph->nodes[i];
  if (nodes != NULL && *count >= graph->count) shuffle(nodes, graph->count);
  *count = graph->count;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                  size_t dependency_count, CUgraph child) {
  STUB_ENTER(cuGraphAddChildGraphNode, STUB_CONTEXT);
  const char *function = "cuGraphAddChildGraphNode";
  if (!stub_object_check(graph, STUB_GRAPH, function) || !stub_object_check(child, STUB_GRAPH, function))
    return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  stub_work *work = stub_work_create(STUB_CHILD);
  work->child = stub_graph_clone(child);
  return stub_leave(stub_graph_add(node, graph, dependencies, dependency_count, work, function));
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                   size_t dependency_count, CUevent event) {
  STUB_ENTER(cuGraphAddEventRecordNode, STUB_CONTEXT);
  const char *function = "cuGraphAddEventRecordNode";
  if (!stub_object_check(graph, STUB_GRAPH, function) || !stub_object_check(event, STUB_EVENT, function))
    return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  stub_work *work = stub_work_create(STUB_RECORD);
  work->event = event;
  return stub_leave(stub_graph_add(node, graph, dependencies, dependency_count, work, function));
}

// One end of a copy; 0 and a violation if it is not a range of bytes.
static uint64_t end_address(CUmemorytype type, const void *host, CUdeviceptr device, size_t x, const char *function) {
  if (type == CU_MEMORYTYPE_HOST) return (uint64_t)(uintptr_t)host + x;
  if (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED) return device + x;
  stub_violation("%s: memory of type %d", function, (int)type);
  return 0;
}

stub_work *stub_work_copy(const CUDA_MEMCPY3D *parameters, const char *function) {
  const CUDA_MEMCPY3D *p = parameters;
  if (p->WidthInBytes == 0 || p->Height != 1 || p->Depth != 1 || p->srcY + p->srcZ + p->srcLOD != 0 ||
      p->dstY + p->dstZ + p->dstLOD != 0) {
    stub_violation("%s: %zu x %zu x %zu bytes are not a range", function, p->WidthInBytes, p->Height, p->Depth);
    return NULL;
  }
  uint64_t source = end_address(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcXInBytes, function);
  uint64_t destination = end_address(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstXInBytes, function);
  if (source == 0 || destination == 0) return NULL;
  stub_allocation *to, *from;
  if (!stub_memory_check(destination, p->WidthInBytes, function, &to) ||
      !stub_memory_check(source, p->WidthInBytes, function, &from))
    return NULL;
  bool to_device = to != NULL && to->kind == STUB_DEVICE_MEMORY,
       from_device = from != NULL && from->kind == STUB_DEVICE_MEMORY;
  if ((p->dstMemoryType == CU_MEMORYTYPE_DEVICE) != to_device && p->dstMemoryType != CU_MEMORYTYPE_UNIFIED)
    stub_violation("%s: the destination's memory type is wrong", function);
  if ((p->srcMemoryType == CU_MEMORYTYPE_DEVICE) != from_device && p->srcMemoryType != CU_MEMORYTYPE_UNIFIED)
    stub_violation("%s: the source's memory type is wrong", function);
  stub_work *work = stub_work_create(STUB_COPY);
  work->destination = destination;
  work->source = source;
  work->bytes = p->WidthInBytes;
  return work;
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t dependency_count, const CUDA_MEMCPY3D *parameters, CUcontext context) {
  STUB_ENTER(cuGraphAddMemcpyNode, STUB_CONTEXT);
  const char *function = "cuGraphAddMemcpyNode";
  if (!stub_object_check(graph, STUB_GRAPH, function)) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (!stub_context_check(context, function)) return stub_leave(CUDA_ERROR_INVALID_CONTEXT);
  stub_work *work = parameters == NULL ? NULL : stub_work_copy(parameters, function);
  if (work == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  return stub_leave(stub_graph_add(node, graph, dependencies, dependency_count, work, function));
}

stub_work *stub_work_set(const CUDA_MEMSET_NODE_PARAMS *parameters, const char *function) {
  bool bytes_alone = parameters->elementSize == 1;
  if ((parameters->elementSize != sizeof(uint32_t) && !bytes_alone) || parameters->height != 1 ||
      parameters->width == 0 || parameters->dst % parameters->elementSize != 0) {
    stub_violation("%s: %zu x %zu elements of %u bytes are not a range of words", function, parameters->width,
                   parameters->height, parameters->elementSize);
    return NULL;
  }
  stub_allocation *to;
  uint64_t bytes = parameters->width * parameters->elementSize;
  if (!stub_memory_check(parameters->dst, bytes, function, &to)) return NULL;
  if (to == NULL || to->kind != STUB_DEVICE_MEMORY) {
    stub_violation("%s: memory of the host", function);
    return NULL;
  }
  stub_work *work = stub_work_create(STUB_SET);
  work->destination = parameters->dst;
  work->bytes = bytes;
  work->value = bytes_alone ? (parameters->value & 0xff) * 0x01010101u : parameters->value;
  return work;
}

CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t dependency_count, const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext context) {
  STUB_ENTER(cuGraphAddMemsetNode, STUB_CONTEXT);
  const char *function = "cuGraphAddMemsetNode";
  if (!stub_object_check(graph, STUB_GRAPH, function)) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (!stub_context_check(context, function)) return stub_leave(CUDA_ERROR_INVALID_CONTEXT);
  stub_work *work = parameters == NULL ? NULL : stub_work_set(parameters, function);
  if (work == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  return stub_leave(stub_graph_add(node, graph, dependencies, dependency_count, work, function));
}
