// SPDX-License-Identifier: Apache-2.0
//
// Adopted graphs.
#include "api/adopt.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/structs.h"
#include "engine/buffer.h"
#include "graph/adopt.h"
#include "graph/plan.h"

typedef weir__adoption adoption;

enum { OTHER_KINDS = WEIR_CUDA_NODE_OTHER }; // beside kernels: numbered from 1

weir_status weir_cuda_nodes_read(weir_device *device, void *cu_graph, weir_cuda_nodes **out_nodes) {
  if (out_nodes == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "adopt: out_nodes is NULL");
  *out_nodes = NULL;
  weir_status status = weir__cuda_check(device, "adopt");
  if (status != WEIR_OK) return status;
  if (cu_graph == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "adopt: the CUgraph is NULL");
  weir__cuda_adopted *nodes;
  status = weir__cuda_adopted_read(weir__cuda_of(device), (CUgraph)cu_graph, &nodes);
  if (status == WEIR_OK) *out_nodes = &nodes->given;
  return status;
}

void weir_cuda_nodes_release(weir_cuda_nodes *nodes) {
  if (nodes != NULL) weir__graph_source_drop(&weir__cuda_adopted_of(nodes)->source);
}

weir_status weir__adopt_no_memory(void) {
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "adopt: no memory");
}

void weir__adopt_describe(const adoption *to, uint32_t node, char what[WEIR__ADOPT_WHAT_BYTES]) {
  snprintf(what, WEIR__ADOPT_WHAT_BYTES, "adopt: node %u '%.60s'", node, to->nodes->nodes[node].name);
}

// ---------------------------------------------------------------------------------------------------------------
// What the graph has of its own

// Buffers for places that have none.
static weir_status make_buffers(adoption *to, weir__graph_adopted *own) {
  uint32_t count = to->place_count - to->given_count;
  own->buffers = weir__allocate(((size_t)count + 1) * sizeof *own->buffers);
  if (own->buffers == NULL) return weir__adopt_no_memory();
  for (uint32_t i = 0; i < count; i++) {
    weir__adopt_place *place = &to->places[to->given_count + i];
    weir_status status = weir__buffer_wrap(&to->nodes->device->base.device, (void *)(uintptr_t)place->lo,
                                           place->hi - place->lo, &place->buffer);
    if (status != WEIR_OK) return weir__error_prefix(status, "adopt: ");
    own->buffers[own->buffer_count++] = place->buffer;
  }
  return WEIR_OK;
}

static weir_status make_kernel(const adoption *to, const char *name, weir__graph_adopted *own) {
  weir_kernel *kernel;
  weir_status status = weir_kernel_create(to->context, name, &kernel);
  if (status != WEIR_OK) return status;
  own->kernels[own->kernel_count++] = kernel;
  return weir__cuda_set_adopted(kernel, &to->nodes->device->base.device);
}

// For each kind but kernels, by its number less 1, then for each function.
static weir_status make_kernels(const adoption *to, weir__graph_adopted *own) {
  static const char *const NAMES[OTHER_KINDS] = {"copy", "set", "host function", "empty", "other"};
  own->kernels = weir__allocate(((size_t)to->nodes->function_count + OTHER_KINDS) * sizeof *own->kernels);
  if (own->kernels == NULL) return weir__adopt_no_memory();
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < OTHER_KINDS && status == WEIR_OK; i++) status = make_kernel(to, NAMES[i], own);
  for (uint32_t i = 0; i < to->nodes->function_count && status == WEIR_OK; i++)
    status = make_kernel(to, to->nodes->functions[i].name, own);
  return status;
}

// The graph gets all that there is, even if it is not complete: its release frees it.
static weir_status make_own(adoption *to, weir_graph *graph) {
  weir__graph_adopted own = {.source = weir__graph_source_retain(&to->nodes->source)};
  weir_status status = make_kernels(to, &own);
  if (status == WEIR_OK) status = make_buffers(to, &own);
  weir__graph_adopt(graph, &own);
  return status;
}

// ---------------------------------------------------------------------------------------------------------------
// Tasks

static weir_status record(const adoption *to, weir_graph *graph, uint32_t index) {
  weir__cuda_adopted_node *own = &to->nodes->own[index];
  const weir_cuda_node *node = &to->nodes->nodes[index];
  weir_arg args[WEIR_MAX_ARGS];
  weir_task task = {.user = own, .args = args, .tag = index};
  weir_status status = weir__adopt_make_args(to, index, args, &task.arg_count);
  if (status != WEIR_OK) return status;
  uint32_t number = own->kind == WEIR_CUDA_NODE_KERNEL ? OTHER_KINDS + own->function : (uint32_t)own->kind - 1;
  task.kernel = graph->adopted.kernels[number];
  task.label = to->options->labels != NULL ? to->options->labels[index] : NULL;
  for (int i = 0; i < 3; i++) task.groups[i] = node->grid[i];
  const struct weir__recorded like = {.kind = WEIR__GRAPH_CALL, .adopted = true, .wall = to->unknown[index]};
  weir__context_lock(to->context);
  status = weir__graph_add(graph, &task, &like, NULL);
  weir__context_unlock(to->context);
  return status;
}

static weir_status make_graph(adoption *to, weir_graph **out_graph) {
  const weir_graph_options options = {
      .device = to->nodes->given.device, .queue = to->options->queue, .timing = to->options->timing};
  weir_status status = weir_graph_create(to->context, &options, out_graph);
  if (status != WEIR_OK) return status;
  status = make_own(to, *out_graph);
  for (uint32_t i = 0; i < to->nodes->count && status == WEIR_OK; i++) status = record(to, *out_graph, i);
  if (status == WEIR_OK) return status;
  weir_graph_release(*out_graph);
  *out_graph = NULL;
  return status;
}

static void clean_up(adoption *to) {
  weir__free(to->uses);
  weir__free(to->first_use);
  weir__free(to->unknown);
  weir__free(to->places);
  weir__free(to->managed);
}

weir_status weir__adopt(weir__cuda_adopted *nodes, const weir_cuda_adopt_options *options, weir_graph **out_graph) {
  adoption to = {.nodes = nodes,
                 .context = weir__context_of(nodes->given.device->host),
                 .options = options,
                 .first_unknown = UINT32_MAX};
  weir_status status = weir__adopt_take_buffers(&to);
  if (status == WEIR_OK) status = weir__adopt_find_uses(&to);
  if (status == WEIR_OK && options->check_parameters) status = weir__adopt_check_parameters(&to);
  if (status == WEIR_OK) status = weir__adopt_find_places(&to);
  if (status == WEIR_OK) status = make_graph(&to, out_graph);
  if (status == WEIR_OK && options->out_undescribed != NULL)
    memcpy(options->out_undescribed, to.unknown, nodes->count * sizeof to.unknown[0]);
  clean_up(&to);
  return status;
}

weir_status weir_cuda_graph_adopt_sized(const weir_cuda_nodes *given_nodes, const weir_cuda_adopt_options *given,
                                        size_t options_size, weir_graph **out_graph) {
  if (out_graph == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "adopt: out_graph is NULL");
  *out_graph = NULL;
  if (given_nodes == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "adopt: the list of nodes is NULL");
  weir__cuda_adopted *nodes = weir__cuda_adopted_of(given_nodes);
  weir_cuda_adopt_options options;
  weir_status status = weir__struct_take(&options, sizeof options, given, options_size, "adopt");
  if (status != WEIR_OK) return status;
  if (nodes->refusal != NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "adopt: node %u %s, and cannot be adopted", nodes->refused,
                       nodes->refusal);
  if (nodes->clone == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "adopt: the driver does not clone this graph, as if it were the body of a conditional node");
  return weir__adopt(nodes, &options, out_graph);
}
