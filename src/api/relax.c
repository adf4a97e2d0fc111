// SPDX-License-Identifier: Apache-2.0
//
// Relaxed graphs: the plan of an adopted graph, without the graph.
#include "weir/relax.h"

#include "api/adopt.h"
#include "base/error.h"
#include "base/structs.h"
#include "device/cuda/graph/adopted.h"
#include "device/cuda/graph/edges.h"
#include "engine/context.h"
#include "graph/plan.h"

static weir_status no_memory(void) {
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "relax: no memory");
}

// Edges between the nodes that were read, as the plan has them.
static weir_status make_edges(const weir_cuda_nodes *nodes, const weir__graph_plan *plan, weir__cuda_edges *out_edges) {
  if (!weir__cuda_edges_allocate(out_edges, plan->edge_count)) return no_memory();
  size_t at = 0;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    const weir__graph_node *node = &plan->nodes[i];
    for (uint32_t j = 0; j < node->predecessor_count; j++, at++) {
      out_edges->from[at] = nodes->nodes[plan->predecessors[node->first_predecessor + j]].node;
      out_edges->to[at] = nodes->nodes[i].node;
    }
  }
  return WEIR_OK;
}

static weir_status replace_edges(const weir__cuda_adopted *nodes, const weir__cuda_edges *edges) {
  const weir__cuda_device *device = nodes->device;
  CUresult result = weir__cuda_enter(device);
  if (result != CUDA_SUCCESS) return weir__cuda_error(device->driver, result, "relax");
  weir_status status = weir__cuda_edges_replace(device->driver, nodes->read, edges);
  weir__cuda_leave(device);
  return status;
}

static weir_status apply(const weir__cuda_adopted *nodes, weir_graph *graph, uint64_t *out_edges) {
  weir_context *context = graph->object.context;
  weir__cuda_edges edges = {0};
  weir__context_lock(context);
  weir_status status = weir__graph_make_plan(graph);
  if (status == WEIR_OK) status = make_edges(&nodes->given, graph->plan, &edges);
  weir__context_unlock(context);
  if (status == WEIR_OK) status = replace_edges(nodes, &edges);
  if (status == WEIR_OK && out_edges != NULL) *out_edges = edges.count;
  weir__cuda_edges_free(&edges);
  return status;
}

static weir_status check_options(const weir_cuda_adopt_options *options) {
  if (options->buffer_count == 0 && options->labels == NULL && options->queue == 0 && !options->timing) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "relax: `buffers`, `labels`, `queue` and `timing` of the options must not be set");
}

// Nodes of child graphs have no edges to others.
static weir_status check_nodes(const weir__cuda_adopted *nodes) {
  const weir__cuda_driver *driver = nodes->device->driver;
  size_t count = 0;
  if (driver->cuGraphAddDependencies == NULL || driver->cuGraphRemoveDependencies == NULL)
    return weir__error(WEIR_ERROR_UNAVAILABLE, "relax: the driver lacks cuGraphAddDependencies_v2");
  CUresult result = driver->cuGraphGetNodes(nodes->read, NULL, &count);
  if (result != CUDA_SUCCESS) return weir__cuda_error(driver, result, "relax: the graph's nodes");
  if (count == nodes->count) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "relax: the graph has child graphs");
}

weir_status weir_cuda_graph_relax_sized(const weir_cuda_nodes *given_nodes, const weir_cuda_adopt_options *given,
                                        size_t options_size, uint64_t *out_edges) {
  weir_cuda_adopt_options options;
  weir_graph *graph = NULL;
  if (given_nodes == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "relax: the list of nodes is NULL");
  weir__cuda_adopted *nodes = weir__cuda_adopted_of(given_nodes);
  weir_status status = weir__struct_take(&options, sizeof options, given, options_size, "relax");
  if (status == WEIR_OK) status = check_options(&options);
  if (status == WEIR_OK) status = check_nodes(nodes);
  if (status == WEIR_OK) status = weir__adopt(nodes, &options, &graph);
  if (status == WEIR_OK) status = apply(nodes, graph, out_edges);
  weir_graph_release(graph);
  return status;
}
