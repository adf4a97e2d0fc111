// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/allocate.h"
#include "device/sim/batch.h"

// Bytes of a task's arguments: the addresses of buffers, and the values.
static uint32_t argument_bytes(const weir__task *task) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < task->arg_count; i++)
    bytes += weir__task_is_value(task, i) ? weir__task_value_bytes(task, i) : sizeof(void *);
  return (uint32_t)bytes;
}

static void copy_arguments(const weir__task *task, unsigned char *bytes) {
  for (uint32_t i = 0; i < task->arg_count; i++) {
    bool is_value = weir__task_is_value(task, i);
    uint64_t count = is_value ? weir__task_value_bytes(task, i) : sizeof(void *);
    memcpy(bytes, is_value ? task->args[i] : (const void *)&task->args[i], count);
    bytes += count;
  }
}

static bool same_arguments(const weir__task *task, const unsigned char *bytes) {
  for (uint32_t i = 0; i < task->arg_count; i++) {
    bool is_value = weir__task_is_value(task, i);
    uint64_t count = is_value ? weir__task_value_bytes(task, i) : sizeof(void *);
    if (memcmp(bytes, is_value ? task->args[i] : (const void *)&task->args[i], count) != 0) return false;
    bytes += count;
  }
  return true;
}

static bool same_function(const weir__sim_node *node, const weir__task *task) {
  return node->code == task->code && memcmp(node->groups, task->groups, sizeof node->groups) == 0 &&
         node->byte_count == argument_bytes(task);
}

static uint32_t total_bytes(const weir__batch *batch) {
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < batch->count; i++) bytes += argument_bytes(batch->collection->tasks[i].task);
  return bytes;
}

static uint32_t total_edges(const weir__batch *batch) {
  uint32_t edges = 0;
  for (uint32_t i = 0; i < batch->count; i++) edges += batch->collection->tasks[i].predecessor_count;
  return edges;
}

// There is room for the arguments.
static void set_all(weir__sim_graph *graph, const weir__batch *batch) {
  uint32_t byte = 0;
  for (uint32_t i = 0; i < batch->count; i++) {
    const weir__task *task = batch->collection->tasks[i].task;
    weir__sim_node *node = &graph->nodes[i];
    node->code = task->code;
    memcpy(node->groups, task->groups, sizeof node->groups);
    node->first_byte = byte;
    node->byte_count = argument_bytes(task);
    copy_arguments(task, graph->bytes + byte);
    byte += node->byte_count;
  }
}

weir__sim_graph *weir__sim_graph_create(const weir__batch *batch) {
  const weir__collection *collection = batch->collection;
  weir__sim_graph *graph = weir__allocate_zeroed(sizeof *graph);
  if (graph == NULL) return NULL;
  graph->head.launch_count = batch->launches;
  graph->node_count = batch->count;
  graph->byte_capacity = total_bytes(batch) + 1;
  graph->nodes = weir__allocate(batch->count * sizeof *graph->nodes);
  graph->edges = weir__allocate((total_edges(batch) + 1) * sizeof *graph->edges);
  graph->bytes = weir__allocate(graph->byte_capacity);
  if (graph->nodes == NULL || graph->edges == NULL || graph->bytes == NULL) {
    weir__sim_graph_destroy(graph);
    return NULL;
  }
  uint32_t edge = 0;
  for (uint32_t i = 0; i < batch->count; i++) {
    const weir__collected *task = &collection->tasks[i];
    graph->nodes[i].first_edge = edge;
    graph->nodes[i].edge_count = task->predecessor_count;
    for (uint32_t j = 0; j < task->predecessor_count; j++)
      graph->edges[edge++] = collection->predecessors[task->first_predecessor + j];
  }
  set_all(graph, batch);
  return graph;
}

void weir__sim_graph_destroy(weir__sim_graph *graph) {
  weir__free(graph->nodes);
  weir__free(graph->edges);
  weir__free(graph->bytes);
  weir__free(graph);
}

static bool same_topology(const weir__sim_graph *graph, const weir__batch *batch) {
  const weir__collection *collection = batch->collection;
  if (graph->node_count != batch->count) return false;
  for (uint32_t i = 0; i < batch->count; i++) {
    const weir__collected *task = &collection->tasks[i];
    const weir__sim_node *node = &graph->nodes[i];
    if (node->code->count != task->launches || node->edge_count != task->predecessor_count ||
        memcmp(graph->edges + node->first_edge, collection->predecessors + task->first_predecessor,
               node->edge_count * sizeof *graph->edges) != 0)
      return false;
  }
  return true;
}

weir__graph_likeness weir__sim_graph_compare(const weir__sim_graph *graph, const weir__batch *batch) {
  weir__graph_likeness likeness = WEIR__SAME_GRAPH;
  if (!same_topology(graph, batch)) return WEIR__OTHER_TOPOLOGY;
  for (uint32_t i = 0; i < batch->count; i++) {
    const weir__task *task = batch->collection->tasks[i].task;
    if (!same_function(&graph->nodes[i], task)) return WEIR__OTHER_SHAPE;
    if (!same_arguments(task, graph->bytes + graph->nodes[i].first_byte)) likeness = WEIR__SAME_SHAPE;
  }
  return likeness;
}

bool weir__sim_graph_set(weir__sim_graph *graph, const weir__batch *batch, uint32_t *out_functions,
                         uint32_t *out_parameters) {
  uint32_t bytes = total_bytes(batch);
  *out_functions = *out_parameters = 0;
  for (uint32_t i = 0; i < batch->count; i++) {
    const weir__collected *task = &batch->collection->tasks[i];
    if (!same_function(&graph->nodes[i], task->task))
      *out_functions += task->launches;
    else if (!same_arguments(task->task, graph->bytes + graph->nodes[i].first_byte))
      *out_parameters += task->launches;
  }
  if (bytes > graph->byte_capacity) {
    unsigned char *larger = weir__allocate(bytes);
    if (larger == NULL) return false;
    weir__free(graph->bytes);
    graph->bytes = larger;
    graph->byte_capacity = bytes;
  }
  set_all(graph, batch);
  return true;
}
