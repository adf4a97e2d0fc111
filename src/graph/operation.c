// SPDX-License-Identifier: Apache-2.0
//
// Operations of graphs: added, and recorded anew.
#include <stdio.h>

#include "base/allocate.h"
#include "base/error.h"
#include "graph/flight.h"
#include "graph/plan.h"

// Room for one more operation. What is there may be read by launches at the same time, with the lock held.
static bool reserve(weir_graph *graph) {
  weir__operations *operations = graph->operations;
  if (operations == NULL) {
    operations = weir__allocate_zeroed(sizeof *operations);
    if (operations == NULL) return false;
    operations->references = 1;
    graph->operations = operations;
  }
  if (operations->count < operations->capacity) return true;
  uint32_t capacity = operations->capacity == 0 ? 8 : 2 * operations->capacity;
  weir__operation *larger = weir__allocate(capacity * sizeof *larger);
  if (larger == NULL) return false;
  for (uint32_t i = 0; i < operations->count; i++) larger[i] = operations->list[i];
  weir__free(operations->list);
  operations->list = larger;
  operations->capacity = capacity;
  return true;
}

// Has operation `index` record. The lock is held before and after, not meanwhile.
static weir_status record(weir_graph *graph, uint32_t index) {
  weir__operation *operation = &graph->operations->list[index];
  operation->first_node = graph->recorded_count;
  weir_operation calls = operation->calls;
  if (calls.record == NULL) return WEIR_OK;
  graph->recording = true;
  graph->recording_operation = index;
  weir__context_unlock(graph->object.context);
  weir_status status = calls.record(graph, calls.user);
  weir__context_lock(graph->object.context);
  graph->recording = false;
  return status;
}

// Removes the nodes from `count` on.
static void cut_back(weir_graph *graph, uint32_t count) {
  while (graph->recorded_count > count) weir__recorded_clear(&graph->recorded[--graph->recorded_count]);
  weir__graph_forget_plan(graph);
}

// What an operation returned, and the last error, which is most likely why.
static const char *describe(weir_status status, char why[WEIR__MESSAGE_BYTES]) {
  snprintf(why, WEIR__MESSAGE_BYTES, "%s (%s)", weir_status_name(status), weir_last_error());
  return why;
}

static weir_status add(weir_graph *graph, const weir_operation *operation) {
  if (graph->recording)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph add operation: an operation is recording in the graph");
  if (!reserve(graph)) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "graph add operation: no memory");
  uint32_t index = graph->operations->count, node_count = graph->recorded_count;
  weir_device *device = graph->device;
  graph->operations->list[index].calls = *operation;
  weir_status status = record(graph, index);
  if (status == WEIR_OK) {
    graph->operations->count++;
    return WEIR_OK;
  }
  cut_back(graph, node_count);
  graph->device = device;
  char why[WEIR__MESSAGE_BYTES];
  return weir__error(status, "graph add operation: it could not record its tasks: %s", describe(status, why));
}

weir_status weir_graph_add_operation(weir_graph *graph, const weir_operation *operation) {
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph add operation");
  if (status != WEIR_OK) return status;
  if (operation == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph add operation: the operation is NULL");
  weir__context_lock(graph->object.context);
  status = add(graph, operation);
  weir__context_unlock(graph->object.context);
  return status;
}

// The graph's nodes, on their way from the old list to the new one.
typedef struct rerecording {
  weir_graph *graph;
  struct weir__recorded *old;
  uint32_t old_count, old_capacity;
  weir_device *old_device;
  uint32_t *old_firsts; // per operation
} rerecording;

static bool begin(rerecording *self, weir_graph *graph) {
  uint32_t count = graph->operations == NULL ? 0 : graph->operations->count;
  *self = (rerecording){.graph = graph,
                        .old = graph->recorded,
                        .old_count = graph->recorded_count,
                        .old_capacity = graph->recorded_capacity,
                        .old_device = graph->device,
                        .old_firsts = weir__allocate((count + 1) * sizeof *self->old_firsts)};
  if (self->old_firsts == NULL) return false;
  for (uint32_t i = 0; i < count; i++) self->old_firsts[i] = graph->operations->list[i].first_node;
  graph->recorded = NULL;
  graph->recorded_count = graph->recorded_capacity = 0;
  weir__graph_forget_plan(graph);
  return true;
}

// Records operations and keeps other nodes, in the order of the old list.
static weir_status run(rerecording *self) {
  weir_graph *graph = self->graph;
  uint32_t operation_count = graph->operations == NULL ? 0 : graph->operations->count, next = 0;
  for (uint32_t node = 0; node <= self->old_count; node++) {
    for (; next < operation_count && self->old_firsts[next] <= node; next++) {
      weir_status status = record(graph, next);
      char why[WEIR__MESSAGE_BYTES];
      if (status != WEIR_OK)
        return weir__error(status, "graph rerecord: operation %u could not record its tasks: %s", next,
                           describe(status, why));
    }
    if (node == self->old_count || self->old[node].operation != UINT32_MAX) continue;
    if (!weir__graph_record(graph, &self->old[node].task, &self->old[node]))
      return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "graph rerecord: no memory");
  }
  return WEIR_OK;
}

static void drop_list(struct weir__recorded *list, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) weir__recorded_clear(&list[i]);
  weir__free(list);
}

static void restore(rerecording *self) {
  weir_graph *graph = self->graph;
  drop_list(graph->recorded, graph->recorded_count);
  graph->recorded = self->old;
  graph->recorded_count = self->old_count;
  graph->recorded_capacity = self->old_capacity;
  graph->device = self->old_device;
  uint32_t operation_count = graph->operations == NULL ? 0 : graph->operations->count;
  for (uint32_t i = 0; i < operation_count; i++) graph->operations->list[i].first_node = self->old_firsts[i];
  weir__graph_forget_plan(graph);
}

weir_status weir_graph_rerecord(weir_graph *graph) {
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph rerecord");
  if (status != WEIR_OK) return status;
  rerecording self;
  weir__context_lock(graph->object.context);
  if (graph->recording) {
    status = weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph rerecord: an operation is recording in the graph");
  } else if (!begin(&self, graph)) {
    status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "graph rerecord: no memory");
  } else {
    status = run(&self);
    if (status == WEIR_OK)
      drop_list(self.old, self.old_count);
    else
      restore(&self);
    weir__free(self.old_firsts);
  }
  weir__context_unlock(graph->object.context);
  return status;
}
