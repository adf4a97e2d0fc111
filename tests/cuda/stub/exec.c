// SPDX-License-Identifier: Apache-2.0
//
// Executable graphs. What a launch will do is fixed when it is put in its stream; later changes affect later launches.
#include <stdlib.h>
#include <string.h>

#include "internal.h"

// A graph with the nodes of its children in place of these, as lists.
typedef struct flat {
  stub_work **works;
  uint32_t *predecessors, *first_predecessor; // per node and one more: where its part of `predecessors` begins
  uint32_t count, predecessor_count;
} flat;

// How many nodes it has so. A child has one more at its beginning and at its end.
static void measure(const struct CUgraph_st *graph, uint32_t *nodes, uint32_t *edges) {
  for (uint32_t i = 0; i < graph->count; i++) {
    *nodes += 1;
    *edges += graph->nodes[i]->predecessor_count;
    if (graph->nodes[i]->work->kind != STUB_CHILD) continue;
    uint32_t before = *nodes;
    measure(graph->nodes[i]->work->child, nodes, edges);
    *edges += 2 * (*nodes - before) + 1;
    *nodes += 1;
  }
}

static void begin_node(flat *to, stub_work *work) {
  to->first_predecessor[to->count] = to->predecessor_count;
  to->works[to->count++] = work;
}

static void add_predecessor(flat *to, uint32_t node) {
  to->predecessors[to->predecessor_count++] = node;
}

// Where each node will be among those of `to`, and one more.
static void find_places(const flat *to, const struct CUgraph_st *graph, uint32_t *first) {
  first[0] = to->count;
  for (uint32_t i = 0; i < graph->count; i++) {
    uint32_t nodes = 0, edges = 0;
    const stub_work *work = graph->nodes[i]->work;
    if (work->kind == STUB_CHILD) measure(work->child, &nodes, &edges);
    first[i + 1] = first[i] + (work->kind == STUB_CHILD ? nodes + 2 : 1);
  }
}

// Appends the nodes, those without predecessors behind `entry` (UINT32_MAX: none). `first`, per node and one more: where it is.
static void flatten(flat *to, const struct CUgraph_st *graph, uint32_t entry, uint32_t *first) {
  find_places(to, graph, first);
  for (uint32_t i = 0; i < graph->count; i++) {
    const struct CUgraphNode_st *node = graph->nodes[i];
    bool is_child = node->work->kind == STUB_CHILD;
    begin_node(to, is_child ? stub_work_create(STUB_EMPTY) : stub_work_retain(node->work));
    for (uint32_t j = 0; j < node->predecessor_count; j++) add_predecessor(to, first[node->predecessors[j] + 1] - 1);
    if (node->predecessor_count == 0 && entry != UINT32_MAX) add_predecessor(to, entry);
    if (is_child) {
      uint32_t begin = first[i], inside = to->count;
      uint32_t *places = stub_allocate((node->work->child->count + 1) * sizeof *places);
      flatten(to, node->work->child, begin, places);
      free(places);
      uint32_t end = to->count;
      begin_node(to, stub_work_create(STUB_EMPTY));
      for (uint32_t j = inside; j < end; j++) add_predecessor(to, j);
      if (inside == end) add_predecessor(to, begin);
    }
  }
}

// `*first` is allocated.
static flat flat_create(const struct CUgraph_st *graph, uint32_t **first) {
  flat made = {0};
  uint32_t nodes = 0, edges = 0;
  measure(graph, &nodes, &edges);
  made.works = stub_allocate((nodes + 1) * sizeof *made.works);
  made.predecessors = stub_allocate((edges + nodes + 1) * sizeof *made.predecessors);
  made.first_predecessor = stub_allocate((nodes + 1) * sizeof *made.first_predecessor);
  *first = stub_allocate((graph->count + 1) * sizeof **first);
  flatten(&made, graph, UINT32_MAX, *first);
  made.first_predecessor[made.count] = made.predecessor_count;
  return made;
}

static stub_topology *topology_create(const flat *graph) {
  stub_topology *topology = stub_allocate(sizeof *topology);
  uint32_t count = graph->count;
  topology->references = 1;
  topology->count = count;
  topology->missing = stub_allocate(count * sizeof(uint32_t));
  topology->first_successor = stub_allocate((count + 1) * sizeof(uint32_t));
  for (uint32_t i = 0; i < count; i++) {
    topology->missing[i] = graph->first_predecessor[i + 1] - graph->first_predecessor[i];
    for (uint32_t j = graph->first_predecessor[i]; j < graph->first_predecessor[i + 1]; j++)
      topology->first_successor[graph->predecessors[j] + 1]++;
  }
  for (uint32_t i = 0; i < count; i++) topology->first_successor[i + 1] += topology->first_successor[i];
  topology->successors = stub_allocate(topology->first_successor[count] * sizeof(uint32_t));
  uint32_t *next = stub_allocate((count + 1) * sizeof(uint32_t));
  memcpy(next, topology->first_successor, (count + 1) * sizeof(uint32_t));
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t j = graph->first_predecessor[i]; j < graph->first_predecessor[i + 1]; j++)
      topology->successors[next[graph->predecessors[j]]++] = i;
  free(next);
  return topology;
}

// Whether edges are in a circle, so that some nodes would never run.
static bool has_circle(const stub_topology *topology) {
  uint32_t *missing = stub_allocate((topology->count + 1) * sizeof *missing);
  uint32_t *order = stub_allocate((topology->count + 1) * sizeof *order);
  uint32_t ready = 0;
  memcpy(missing, topology->missing, topology->count * sizeof *missing);
  for (uint32_t i = 0; i < topology->count; i++)
    if (missing[i] == 0) order[ready++] = i;
  for (uint32_t i = 0; i < ready; i++)
    for (uint32_t j = topology->first_successor[order[i]]; j < topology->first_successor[order[i] + 1]; j++)
      if (--missing[topology->successors[j]] == 0) order[ready++] = topology->successors[j];
  free(missing);
  free(order);
  return ready < topology->count;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
  STUB_ENTER(cuGraphInstantiateWithFlags, STUB_CONTEXT);
  if (!stub_object_check(graph, STUB_GRAPH, "cuGraphInstantiate")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (exec == NULL || (flags & ~15ull) != 0 || stub_graph_has_other(graph)) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  CUgraphExec made = stub_object_create(STUB_EXEC, sizeof *made);
  flat all = flat_create(graph, &made->first);
  made->graph_serial = graph->serial;
  made->node_count = graph->count;
  made->topology = topology_create(&all);
  made->works = all.works;
  free(all.predecessors);
  free(all.first_predecessor);
  if (has_circle(made->topology)) stub_violation("cuGraphInstantiate: edges are in a circle");
  *exec = made;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  STUB_ENTER(cuGraphExecDestroy, STUB_CONTEXT | STUB_RELEASE);
  if (!stub_object_check(exec, STUB_EXEC, "cuGraphExecDestroy")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  for (uint32_t i = 0; i < exec->topology->count; i++) stub_work_release(exec->works[i]);
  stub_topology_release(exec->topology);
  stub_ticket_release(exec->last);
  free(exec->works);
  free(exec->first);
  stub_object_destroy(exec);
  return stub_leave(CUDA_SUCCESS);
}

// Whether the node is of the graph that the executable graph was made of.
static CUresult check_node(CUgraphExec exec, CUgraphNode node, const char *function) {
  if (!stub_object_check(exec, STUB_EXEC, function) || !stub_object_check(node, STUB_NODE, function))
    return CUDA_ERROR_INVALID_HANDLE;
  if (node->graph->serial == exec->graph_serial && node->index < exec->node_count) return CUDA_SUCCESS;
  stub_violation("%s: the node is of another graph", function);
  return CUDA_ERROR_INVALID_VALUE;
}

// Whether new work may take the place of old: what an update cannot change.
static bool may_replace(const stub_work *old, const stub_work *work) {
  if (old->kind != work->kind) return false;
  if (old->kind == STUB_KERNEL && old->function->module->context != work->function->module->context) return false;
  if (old->kind != STUB_COPY) return true;
  const uint64_t ends[2][2] = {{old->destination, work->destination}, {old->source, work->source}};
  for (int i = 0; i < 2; i++) {
    const stub_allocation *a = stub_allocation_find(ends[i][0]), *b = stub_allocation_find(ends[i][1]);
    bool a_device = (ends[i][0] & STUB_DEVICE_BIT) != 0, b_device = (ends[i][1] & STUB_DEVICE_BIT) != 0;
    if (a_device != b_device || (a != NULL && b != NULL && a_device && a->device != b->device)) return false;
  }
  return true;
}

static CUresult replace(CUgraphExec exec, CUgraphNode node, stub_work *work, const char *function) {
  stub_work **place = &exec->works[exec->first[node->index]];
  if (node->work->kind == STUB_CHILD || !may_replace(*place, work)) {
    stub_violation("%s: the node's parameters cannot change so", function);
    stub_work_release(work);
    return CUDA_ERROR_INVALID_VALUE;
  }
  stub_work_release(*place);
  *place = work;
  return CUDA_SUCCESS;
}

// Whether the child that the node had may become this one: it has the same nodes and edges, and each may be replaced.
static bool same_topology(const struct CUgraph_st *a, const struct CUgraph_st *b) {
  if (a->count != b->count) return false;
  for (uint32_t i = 0; i < a->count; i++) {
    const struct CUgraphNode_st *x = a->nodes[i], *y = b->nodes[i];
    if (x->work->kind != y->work->kind || x->predecessor_count != y->predecessor_count) return false;
    if (x->predecessor_count > 0 &&
        memcmp(x->predecessors, y->predecessors, x->predecessor_count * sizeof x->predecessors[0]) != 0)
      return false;
    if (x->work->kind == STUB_CHILD && !same_topology(x->work->child, y->work->child)) return false;
  }
  return true;
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  STUB_ENTER(cuGraphExecChildGraphNodeSetParams, STUB_CONTEXT);
  const char *function = "cuGraphExecChildGraphNodeSetParams";
  CUresult result = check_node(exec, node, function);
  if (result != CUDA_SUCCESS) return stub_leave(result);
  if (!stub_object_check(child, STUB_GRAPH, function)) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (node->work->kind != STUB_CHILD) {
    stub_violation("%s: the node has no child graph", function);
    return stub_leave(CUDA_ERROR_INVALID_VALUE);
  }
  if (!same_topology(node->work->child, child)) return stub_leave(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  uint32_t *first;
  flat all = flat_create(child, &first);
  stub_work **inside = exec->works + exec->first[node->index] + 1;
  bool may = true;
  for (uint32_t i = 0; i < all.count && may; i++) may = may_replace(inside[i], all.works[i]);
  for (uint32_t i = 0; i < all.count; i++) {
    stub_work_release(may ? inside[i] : all.works[i]);
    if (may) inside[i] = all.works[i];
  }
  free(all.works);
  free(all.predecessors);
  free(all.first_predecessor);
  free(first);
  return stub_leave(may ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS *parameters) {
  STUB_ENTER(cuGraphExecKernelNodeSetParams_v2, STUB_CONTEXT);
  const char *function = "cuGraphExecKernelNodeSetParams";
  CUresult result = check_node(exec, node, function);
  if (result != CUDA_SUCCESS) return stub_leave(result);
  if (parameters == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  stub_work *work;
  result = stub_work_kernel(parameters, NULL, &work);
  return stub_leave(result == CUDA_SUCCESS ? replace(exec, node, work, function) : result);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *parameters,
                                        CUcontext context) {
  STUB_ENTER(cuGraphExecMemcpyNodeSetParams, STUB_CONTEXT);
  const char *function = "cuGraphExecMemcpyNodeSetParams";
  CUresult result = check_node(exec, node, function);
  if (result != CUDA_SUCCESS) return stub_leave(result);
  if (!stub_context_check(context, function)) return stub_leave(CUDA_ERROR_INVALID_CONTEXT);
  stub_work *work = parameters == NULL ? NULL : stub_work_copy(parameters, function);
  if (work == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  return stub_leave(replace(exec, node, work, function));
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *parameters,
                                        CUcontext context) {
  STUB_ENTER(cuGraphExecMemsetNodeSetParams, STUB_CONTEXT);
  const char *function = "cuGraphExecMemsetNodeSetParams";
  CUresult result = check_node(exec, node, function);
  if (result != CUDA_SUCCESS) return stub_leave(result);
  if (!stub_context_check(context, function)) return stub_leave(CUDA_ERROR_INVALID_CONTEXT);
  stub_work *work = parameters == NULL ? NULL : stub_work_set(parameters, function);
  if (work == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  return stub_leave(replace(exec, node, work, function));
}

// What a launch will use must be alive now.
static CUresult check_works(CUgraphExec exec, CUcontext context) {
  for (uint32_t i = 0; i < exec->topology->count; i++) {
    const stub_work *work = exec->works[i];
    if (work->kind != STUB_KERNEL) continue;
    if (!stub_object_check(work->function, STUB_FUNCTION, "cuGraphLaunch")) return CUDA_ERROR_INVALID_HANDLE;
    if (work->function->module->context == context) continue;
    stub_violation("cuGraphLaunch: a kernel of another context than the stream's");
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

// The stream for a launch or an upload.
static CUresult check_launch(CUgraphExec exec, CUstream handle, const char *function, CUstream *out_stream) {
  *out_stream = stub_stream_of(handle, function);
  if (*out_stream == NULL || !stub_object_check(exec, STUB_EXEC, function)) return CUDA_ERROR_INVALID_HANDLE;
  CUcontext context = (*out_stream)->context;
  return context->fault != CUDA_SUCCESS ? context->fault : check_works(exec, context);
}

// Launches and uploads of one executable graph follow each other.
static void enqueue_after_last(CUgraphExec exec, CUstream stream, stub_operation *operation) {
  if (exec->last != NULL) stub_operation_wait(operation, exec->last);
  stub_ticket_release(exec->last);
  exec->last = stub_ticket_retain(operation->ticket);
  stub_enqueue(stream, operation);
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream handle) {
  STUB_ENTER(cuGraphUpload, STUB_CONTEXT);
  CUstream stream;
  CUresult result = check_launch(exec, handle, "cuGraphUpload", &stream);
  if (result == CUDA_SUCCESS) enqueue_after_last(exec, stream, stub_operation_create(NULL));
  return stub_leave(result);
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream handle) {
  STUB_ENTER(cuGraphLaunch, STUB_CONTEXT);
  CUstream stream;
  CUresult result = check_launch(exec, handle, "cuGraphLaunch", &stream);
  if (result != CUDA_SUCCESS) return stub_leave(result);
  stub_capture_invalidate(stream);
  if (stream->capture != NULL) return stub_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  stub_operation *operation = stub_operation_create(NULL);
  operation->run = stub_run_create(exec->topology, exec->works);
  for (uint32_t i = 0; i < exec->topology->count; i++) stub_operation_refer(operation, exec->works[i]);
  stub_run_record_events(operation->run);
  enqueue_after_last(exec, stream, operation);
  return stub_leave(CUDA_SUCCESS);
}
