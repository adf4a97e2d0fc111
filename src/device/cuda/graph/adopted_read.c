// SPDX-License-Identifier: Apache-2.0
//
// Reading the nodes of a CUgraph that are to be adopted.
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "device/cuda/graph/adopted.h"

enum { MOST_DEPTH = 32, UNKNOWN_ACCESSES = UINT8_MAX, MOST_PARAMETERS = 4096 };

typedef weir__cuda_adopted adopted;
typedef weir__cuda_adopted_node adopted_node;
typedef weir__cuda_adopted_function adopted_function;

// The first function that the driver lacks; NULL: it has all.
static const char *find_lacking(const weir__cuda_driver *driver) {
#define NEED(function)                                                                                                 \
  if (driver->function == NULL) return #function;
  NEED(cuGraphGetNodes)
  NEED(cuGraphGetEdges)
  NEED(cuGraphClone)
  NEED(cuGraphNodeGetType)
  NEED(cuGraphKernelNodeGetParams)
  NEED(cuGraphKernelNodeGetAttribute)
  NEED(cuGraphKernelNodeCopyAttributes)
  NEED(cuGraphMemcpyNodeGetParams)
  NEED(cuGraphMemsetNodeGetParams)
  NEED(cuGraphHostNodeGetParams)
  NEED(cuGraphAddHostNode)
  NEED(cuGraphChildGraphNodeGetGraph)
  NEED(cuFuncGetName)
#undef NEED
  return NULL;
}

static weir_status no_memory(void) {
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "adopt: no memory for the nodes");
}

// Twice as many elements of `bytes` bytes. NULL: no memory.
static void *grow(void *old, uint32_t count, uint32_t capacity, size_t bytes) {
  void *larger = weir__allocate(capacity * bytes);
  if (larger != NULL && count > 0) memcpy(larger, old, count * bytes);
  if (larger != NULL) weir__free(old);
  return larger;
}

// ---------------------------------------------------------------------------------------------------------------
// Functions

static uint32_t slot_of(const adopted *to, CUfunction function) {
  uint32_t mask = 2 * to->function_capacity - 1;
  uint32_t slot = (uint32_t)(((uint64_t)(uintptr_t)function >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 32) & mask;
  while (to->slots[slot] != 0 && to->functions[to->slots[slot] - 1].function != function) slot = (slot + 1) & mask;
  return slot;
}

static bool grow_functions(adopted *to) {
  uint32_t capacity = to->function_capacity == 0 ? 64 : 2 * to->function_capacity;
  uint32_t *slots = weir__allocate_zeroed(2 * (size_t)capacity * sizeof *slots);
  adopted_function *functions =
      slots == NULL ? NULL : grow(to->functions, to->function_count, capacity, sizeof *functions);
  if (functions == NULL) {
    weir__free(slots);
    return false;
  }
  weir__free(to->slots);
  to->slots = slots;
  to->functions = functions;
  to->function_capacity = capacity;
  for (uint32_t i = 0; i < to->function_count; i++) to->slots[slot_of(to, functions[i].function)] = i + 1;
  return true;
}

// False: no memory. The driver tells by an error that there are no more parameters, and another if it cannot tell.
static bool find_parameters(const weir__cuda_driver *driver, adopted_function *function) {
  size_t offset, bytes;
  uint32_t count = 0;
  CUresult result = CUDA_ERROR_NOT_SUPPORTED;
  function->parameter_count = UINT32_MAX;
  if (driver->cuFuncGetParamInfo == NULL) return true;
  while (count <= MOST_PARAMETERS &&
         (result = driver->cuFuncGetParamInfo(function->function, count, &offset, &bytes)) == CUDA_SUCCESS)
    count++;
  if (result != CUDA_ERROR_INVALID_VALUE) return true;
  function->parameter_bytes = weir__allocate((count + 1) * sizeof *function->parameter_bytes);
  if (function->parameter_bytes == NULL) return false;
  for (uint32_t i = 0; i < count; i++) {
    if (driver->cuFuncGetParamInfo(function->function, i, &offset, &bytes) != CUDA_SUCCESS) return true;
    function->parameter_bytes[i] = (uint32_t)bytes;
  }
  function->parameter_count = count;
  return true;
}

// The function's number. UINT32_MAX: no memory.
static uint32_t number_of(adopted *to, CUfunction function) {
  const char *name = NULL;
  if (to->function_count == to->function_capacity && !grow_functions(to)) return UINT32_MAX;
  uint32_t slot = slot_of(to, function);
  if (to->slots[slot] != 0) return to->slots[slot] - 1;
  adopted_function *made = &to->functions[to->function_count];
  *made = (adopted_function){.function = function};
  if (to->device->driver->cuFuncGetName(&name, function) != CUDA_SUCCESS || name == NULL) name = "kernel";
  made->name = weir__allocate_string(name);
  if (made->name == NULL || !find_parameters(to->device->driver, made)) {
    weir__free(made->name);
    return UINT32_MAX;
  }
  to->slots[slot] = ++to->function_count;
  return to->function_count - 1;
}

// ---------------------------------------------------------------------------------------------------------------
// What copies and sets access

// Memory of another device has no order in this one's graphs.
static bool is_elsewhere(const weir__cuda_device *device, uint64_t pointer) {
  const weir__cuda_driver *driver = device->driver;
  unsigned int type = 0;
  int ordinal = device->ordinal;
  return driver->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer) == CUDA_SUCCESS &&
         type == CU_MEMORYTYPE_DEVICE &&
         driver->cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer) == CUDA_SUCCESS &&
         ordinal != device->ordinal;
}

static CUresult find_accesses(const weir__cuda_device *device, CUgraphNode node, adopted_node *own) {
  const weir__cuda_driver *driver = device->driver;
  CUDA_MEMCPY3D copy = {0};
  CUDA_MEMSET_NODE_PARAMS set = {0};
  CUresult result = CUDA_SUCCESS;
  own->access_count = own->kind == WEIR_CUDA_NODE_EMPTY ? 0 : UNKNOWN_ACCESSES;
  if (own->kind == WEIR_CUDA_NODE_SET) {
    result = driver->cuGraphMemsetNodeGetParams(node, &set);
    weir__cuda_set_accesses(&set, &own->accesses[0]);
    own->access_count = 1;
  } else if (own->kind == WEIR_CUDA_NODE_COPY) {
    result = driver->cuGraphMemcpyNodeGetParams(node, &copy);
    if (weir__cuda_copy_accesses(&copy, own->accesses)) own->access_count = 2;
  }
  for (uint32_t i = 0; own->access_count != UNKNOWN_ACCESSES && i < own->access_count; i++)
    if (is_elsewhere(device, own->accesses[i].pointer)) own->access_count = UNKNOWN_ACCESSES;
  return result;
}

// ---------------------------------------------------------------------------------------------------------------
// Nodes

// The kind of a type. `*out_what`: of the kind OTHER, what the node does. False: not known.
static bool kind_of(CUgraphNodeType type, weir_cuda_node_kind *out_kind, const char **out_what) {
  *out_kind = WEIR_CUDA_NODE_OTHER;
  switch (type) {
  case CU_GRAPH_NODE_TYPE_KERNEL:
    *out_kind = WEIR_CUDA_NODE_KERNEL;
    return true;
  case CU_GRAPH_NODE_TYPE_MEMCPY:
    *out_kind = WEIR_CUDA_NODE_COPY;
    return true;
  case CU_GRAPH_NODE_TYPE_MEMSET:
    *out_kind = WEIR_CUDA_NODE_SET;
    return true;
  case CU_GRAPH_NODE_TYPE_HOST:
    *out_kind = WEIR_CUDA_NODE_HOST;
    return true;
  case CU_GRAPH_NODE_TYPE_EMPTY:
    *out_kind = WEIR_CUDA_NODE_EMPTY;
    return true;
  case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    *out_what = "waits for an event";
    return true;
  case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    *out_what = "records an event";
    return true;
  case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    *out_what = "signals a semaphore";
    return true;
  case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    *out_what = "waits for a semaphore";
    return true;
  case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    *out_what = "allocates memory";
    return true;
  case CU_GRAPH_NODE_TYPE_MEM_FREE:
    *out_what = "frees memory";
    return true;
  case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
    *out_what = "is a batch of memory operations";
    return true;
  case CU_GRAPH_NODE_TYPE_CONDITIONAL:
    *out_what = "is conditional";
    return true;
  case CU_GRAPH_NODE_TYPE_GRAPH:
    break;
  }
  return false;
}

static bool reserve(adopted *to) {
  if (to->count < to->capacity) return true;
  uint32_t capacity = to->capacity == 0 ? 64 : 2 * to->capacity;
  weir_cuda_node *nodes = grow(to->nodes, to->count, capacity, sizeof *nodes);
  if (nodes == NULL) return false;
  to->nodes = nodes;
  adopted_node *own = grow(to->own, to->count, capacity, sizeof *own);
  if (own == NULL) return false;
  to->own = own;
  to->capacity = capacity;
  return true;
}

// Whether a launch by cuLaunchKernel would be another one.
static bool has_attributes(const weir__cuda_driver *driver, CUgraphNode node) {
  CUlaunchAttributeValue cooperative = {0}, cluster = {0};
  if (driver->cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &cooperative) != CUDA_SUCCESS ||
      driver->cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &cluster) != CUDA_SUCCESS)
    return true;
  return cooperative.cooperative != 0 || cluster.clusterDim.x > 1 || cluster.clusterDim.y > 1 ||
         cluster.clusterDim.z > 1;
}

static weir_status read_kernel(adopted *to, weir_cuda_node *node, adopted_node *own) {
  const weir__cuda_driver *driver = to->device->driver;
  CUDA_KERNEL_NODE_PARAMS p = {0};
  CUresult result = driver->cuGraphKernelNodeGetParams(own->node, &p);
  if (result == CUDA_SUCCESS && p.func == NULL && driver->cuKernelGetFunction == NULL)
    return weir__error(WEIR_ERROR_UNAVAILABLE, "adopt: the driver lacks cuKernelGetFunction");
  if (result == CUDA_SUCCESS && p.func == NULL) result = driver->cuKernelGetFunction(&p.func, p.kern);
  if (result != CUDA_SUCCESS) return weir__cuda_error(driver, result, "adopt: the kernel of node %u", node->index);
  own->function = number_of(to, p.func);
  if (own->function == UINT32_MAX) return no_memory();
  own->attributes = has_attributes(driver, own->node);
  node->function = p.func;
  memcpy(node->grid, (uint32_t[]){p.gridDimX, p.gridDimY, p.gridDimZ}, sizeof node->grid);
  memcpy(node->block, (uint32_t[]){p.blockDimX, p.blockDimY, p.blockDimZ}, sizeof node->block);
  node->shared_bytes = p.sharedMemBytes;
  node->parameters = p.kernelParams;
  return WEIR_OK;
}

// Of another context than the device's the driver would make it one of the device's.
static bool is_foreign(const weir__cuda_device *device, CUgraphNode from) {
  CUDA_KERNEL_NODE_PARAMS p = {0};
  return device->driver->cuGraphKernelNodeGetParams(from, &p) == CUDA_SUCCESS && p.ctx != NULL &&
         p.ctx != device->primary;
}

// The copy, and what is known of the node. Nothing is copied of the kind OTHER.
static CUresult take_node(adopted *to, CUgraphNode from, adopted_node *own) {
  own->access_count = UNKNOWN_ACCESSES;
  if (own->kind == WEIR_CUDA_NODE_OTHER) return CUDA_SUCCESS;
  CUresult result = weir__cuda_copy_node(to->device, own->kind, from, to->graph, NULL, 0, &own->node);
  return result == CUDA_SUCCESS ? find_accesses(to->device, from, own) : result;
}

static weir_status read_node(adopted *to, CUgraphNode from, CUgraphNodeType type) {
  const char *what = NULL;
  adopted_node own = {.of = to};
  weir_cuda_node node = {.index = to->count, .node = from};
  if (!kind_of(type, &own.kind, &what))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "adopt: node %u is of a kind that is not known", node.index);
  if (own.kind == WEIR_CUDA_NODE_KERNEL && is_foreign(to->device, from))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "adopt: node %u, a kernel, is of another CUDA context than %s",
                       node.index, to->device->base.device.name);
  static const char *const NAMES[] = {"kernel", "copy", "set", "host function", "empty"};
  node.name = what != NULL ? what : NAMES[own.kind];
  if (!reserve(to)) return no_memory();
  CUresult result = take_node(to, from, &own);
  weir_status status = weir__cuda_error(to->device->driver, result, "adopt: node %u (%s)", node.index, node.name);
  node.kind = own.kind;
  if (status == WEIR_OK && own.kind == WEIR_CUDA_NODE_KERNEL) status = read_kernel(to, &node, &own);
  if (status != WEIR_OK) return status;
  if (what != NULL && to->refusal == NULL) {
    to->refusal = what;
    to->refused = node.index;
  }
  to->nodes[to->count] = node;
  to->own[to->count++] = own;
  return WEIR_OK;
}

// Pointers among the arrays, which stay where they are from now on.
static void finish(adopted *to) {
  for (uint32_t i = 0; i < to->count; i++) {
    weir_cuda_node *node = &to->nodes[i];
    adopted_node *own = &to->own[i];
    for (int j = 0; j < 2; j++) own->accesses[j].node = i;
    if (own->access_count != UNKNOWN_ACCESSES) {
      node->accesses = own->accesses;
      node->access_count = own->access_count;
    }
    if (own->kind != WEIR_CUDA_NODE_KERNEL) continue;
    node->name = to->functions[own->function].name;
    node->parameter_count = to->functions[own->function].parameter_count;
    node->parameter_bytes = to->functions[own->function].parameter_bytes;
  }
  to->given = (weir_cuda_nodes){.device = &to->device->base.device, .count = to->count, .nodes = to->nodes};
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs

static weir_status read_graph(adopted *to, CUgraph graph, uint32_t depth);

static weir_status read_child(adopted *to, CUgraphNode node, uint32_t depth) {
  CUgraph child = NULL;
  CUresult result = to->device->driver->cuGraphChildGraphNodeGetGraph(node, &child);
  if (result != CUDA_SUCCESS)
    return weir__cuda_error(to->device->driver, result, "adopt: node %u (child graph)", to->count);
  if (depth == MOST_DEPTH)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "adopt: node %u: graphs in graphs, more than %d deep", to->count,
                       MOST_DEPTH);
  return read_graph(to, child, depth + 1);
}

static weir_status read_graph(adopted *to, CUgraph graph, uint32_t depth) {
  const weir__cuda_driver *driver = to->device->driver;
  CUgraphNode *nodes;
  size_t count;
  weir_status status = weir__cuda_nodes_in_order(driver, graph, &nodes, &count);
  for (size_t i = 0; status == WEIR_OK && i < count; i++) {
    CUgraphNode node = nodes[i];
    CUgraphNodeType type;
    CUresult result = driver->cuGraphNodeGetType(node, &type);
    status = weir__cuda_error(driver, result, "adopt: node %u", to->count);
    if (status == WEIR_OK)
      status = type == CU_GRAPH_NODE_TYPE_GRAPH ? read_child(to, node, depth) : read_node(to, node, type);
  }
  weir__free(nodes);
  return status;
}

// ---------------------------------------------------------------------------------------------------------------

static void destroy(weir__graph_source *source) {
  adopted *to = (adopted *)(void *)((char *)source - offsetof(adopted, source));
  const weir__cuda_driver *driver = to->device->driver;
  if (weir__cuda_enter(to->device) == CUDA_SUCCESS) {
    for (uint32_t i = 0; i < to->count; i++)
      if (to->own[i].alone != NULL) driver->cuGraphExecDestroy(to->own[i].alone);
    if (to->graph != NULL) driver->cuGraphDestroy(to->graph);
    if (to->clone != NULL) driver->cuGraphDestroy(to->clone);
    weir__cuda_leave(to->device);
  }
  for (uint32_t i = 0; i < to->function_count; i++) {
    weir__free(to->functions[i].name);
    weir__free(to->functions[i].parameter_bytes);
  }
  weir__free(to->functions);
  weir__free(to->slots);
  weir__free(to->nodes);
  weir__free(to->own);
  weir__free(to);
}

// The driver clones neither graphs with some nodes of the kind OTHER nor the body of a conditional node. These need no
// clone: they can only be relaxed.
static weir_status make_clone(adopted *to, CUgraph graph) {
  CUresult result = to->device->driver->cuGraphClone(&to->clone, graph);
  if (result == CUDA_SUCCESS) return WEIR_OK;
  to->clone = NULL;
  if (result == CUDA_ERROR_NOT_SUPPORTED) return WEIR_OK;
  return weir__cuda_error(to->device->driver, result, "adopt: a clone of the graph");
}

static weir_status read_all(adopted *to, CUgraph graph) {
  const weir__cuda_driver *driver = to->device->driver;
  CUresult result = weir__cuda_enter(to->device);
  if (result != CUDA_SUCCESS) return weir__cuda_error(driver, result, "adopt");
  weir_status status = weir__cuda_error(driver, driver->cuGraphCreate(&to->graph, 0), "adopt");
  if (status == WEIR_OK) status = read_graph(to, graph, 0);
  if (status == WEIR_OK && to->count == 0)
    status = weir__error(WEIR_ERROR_INVALID_ARGUMENT, "adopt: the graph has no nodes");
  if (status == WEIR_OK) status = make_clone(to, graph);
  weir__cuda_leave(to->device);
  return status;
}

weir_status weir__cuda_adopted_read(weir__cuda_device *device, CUgraph graph, weir__cuda_adopted **out_adopted) {
  *out_adopted = NULL;
  const char *lacking = find_lacking(device->driver);
  if (lacking != NULL) return weir__error(WEIR_ERROR_UNAVAILABLE, "adopt: the driver lacks %s", lacking);
  adopted *to = weir__allocate_zeroed(sizeof *to);
  if (to == NULL) return no_memory();
  to->device = device;
  to->read = graph;
  to->source.destroy = destroy;
  atomic_init(&to->source.references, 1);
  weir_status status = read_all(to, graph);
  if (status == WEIR_OK) {
    finish(to);
    *out_adopted = to;
  } else {
    weir__graph_source_drop(&to->source);
  }
  return status;
}
