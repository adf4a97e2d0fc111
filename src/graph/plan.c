// SPDX-License-Identifier: Apache-2.0
//
// Building a plan from what was recorded.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "engine/check.h"
#include "graph/plan_boxes.h"
#include "graph/plan_build.h"
#include "graph/temporaries.h"

typedef weir__plan_builder builder;
typedef weir__plan_use use;

static int by_address(const void *left, const void *right) {
  uintptr_t a = (uintptr_t) * (weir_buffer *const *)left, b = (uintptr_t) * (weir_buffer *const *)right;
  return a < b ? -1 : a > b;
}

static uint32_t number_of(const weir_graph *graph, weir_buffer *buffer) {
  weir_buffer **found = bsearch(&buffer, graph->buffers, graph->buffer_count, sizeof buffer, by_address);
  return (uint32_t)(found - graph->buffers);
}

// Numbers the buffers, by address.
static bool number_buffers(builder *build) {
  weir_graph *graph = build->graph;
  uint32_t total = 0;
  for (uint32_t i = 0; i < graph->recorded_count; i++) total += graph->recorded[i].task.arg_count;
  build->plan->arg_count = total;
  weir__free(graph->buffers);
  graph->buffer_count = 0;
  graph->buffers = weir__allocate((total + 1) * sizeof(weir_buffer *));
  if (graph->buffers == NULL) return false;
  uint64_t check = ++graph->object.context->checks; // buffers that it has named are known
  for (uint32_t i = 0; i < graph->recorded_count; i++) {
    const struct weir__recorded *recorded = &graph->recorded[i];
    for (uint32_t j = 0; j < recorded->task.arg_count; j++) {
      weir_buffer *buffer = recorded->args[j].buffer;
      if (recorded->args[j].mode == WEIR_VALUE || buffer->named == check) continue;
      buffer->named = check;
      graph->buffers[graph->buffer_count++] = buffer;
    }
  }
  qsort(graph->buffers, graph->buffer_count, sizeof(weir_buffer *), by_address);
  build->plan->buffer_count = graph->buffer_count;
  return true;
}

static bool fill_nodes(builder *build) {
  weir_graph *graph = build->graph;
  weir__graph_plan *plan = build->plan;
  plan->node_count = graph->recorded_count;
  uint32_t host_count = 0;
  uint64_t most_uses = 0;
  bool by_rows;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    most_uses += weir__plan_count_uses(&graph->recorded[i].task, &by_rows);
    host_count += graph->recorded[i].host != NULL;
    const weir_task *task = &graph->recorded[i].task;
    for (uint32_t j = 0; j < task->arg_count; j++) {
      if (task->args[j].mode == WEIR_VALUE) plan->value_bytes += weir__graph_padded(task->args[j].bytes);
    }
  }
  if (most_uses > UINT32_MAX / 4) return false;
  plan->nodes = weir__allocate_zeroed(plan->node_count * sizeof *plan->nodes);
  plan->args = weir__allocate((plan->arg_count + 1) * sizeof *plan->args);
  plan->values = weir__allocate_zeroed(plan->value_bytes); // gaps too, so that values can be compared at once
  if (graph->own) plan->given = weir__allocate(plan->node_count * sizeof *plan->given);
  build->uses = weir__allocate((most_uses + 1) * sizeof *build->uses);
  if (plan->nodes == NULL || plan->args == NULL || plan->values == NULL || build->uses == NULL ||
      (graph->own && plan->given == NULL))
    return false;
  plan->hosts = weir__allocate((host_count + 1) * sizeof *plan->hosts);
  if (plan->hosts == NULL) return false;
  if (!weir__plan_make_boxes(graph, plan)) return false;
  uint32_t arg = 0, box_count = 0;
  uint64_t value = 0;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    const weir_task *task = &graph->recorded[i].task;
    weir__graph_node *node = &plan->nodes[i];
    node->kind = graph->recorded[i].kind;
    node->bytes = graph->recorded[i].bytes;
    if (graph->recorded[i].host != NULL)
      plan->hosts[plan->host_count++] =
          (weir__graph_host){.node = i, .writes = graph->recorded[i].writes_host, .bytes = graph->recorded[i].bytes};
    node->function = task->kernel != NULL ? task->kernel->function : task->host;
    node->user = task->user;
    node->kernel = task->kernel;
    for (int j = 0; j < 3; j++) node->groups[j] = task->groups[j] == 0 ? 1 : task->groups[j];
    node->tag = task->tag;
    if (graph->own) plan->given[i] = (weir__graph_given){task->user, task->tag};
    snprintf(node->label, sizeof node->label, "%s", task->label == NULL ? "" : task->label);
    node->first_arg = arg;
    node->arg_count = task->arg_count;
    node->first_value = value;
    weir__plan_count_uses(task, &by_rows);
    for (uint32_t j = 0; j < task->arg_count; j++) {
      const weir_arg *recorded = &task->args[j];
      weir__graph_arg *planned = &plan->args[arg++];
      *planned = (weir__graph_arg){.mode = recorded->mode,
                                   .host = recorded->mode == WEIR_VALUE && graph->recorded[i].host != NULL,
                                   .offset = recorded->offset,
                                   .bytes = recorded->bytes};
      if (recorded->mode == WEIR_VALUE) {
        planned->offset = value;
        memcpy(plan->values + value, recorded->value, recorded->bytes);
        value += weir__graph_padded(recorded->bytes);
      } else {
        planned->buffer = number_of(graph, recorded->buffer);
        planned->box = weir__plan_take_box(plan, recorded, &box_count);
        planned->by_rows = by_rows;
        const use whole = {.node = i,
                           .buffer = planned->buffer,
                           .mode = recorded->mode,
                           .lo = recorded->offset,
                           .hi = recorded->offset + recorded->bytes};
        build->use_count += weir__plan_make_uses(&whole, planned, build->uses + build->use_count);
      }
    }
    node->value_bytes = value - node->first_value;
  }
  return true;
}

static void clean_up(builder *build) {
  weir__plan_hazards_deinitialize(&build->hazards);
  weir__plan_ancestors_deinitialize(&build->ancestors);
  weir__free(build->uses);
  weir__free(build->by_buffer);
  weir__free(build->buffer_uses);
}

// In check mode the checker gets launches; not those of graphs with images, for which it has
// no copies, or with enqueue functions, which it cannot run by itself.
static bool is_checked(const weir_graph *graph) {
  const weir_context *context = graph->object.context;
  if (context->devices.checker == NULL) return false;
  const char *why = NULL;
  for (uint32_t i = 0; i < graph->recorded_count && why == NULL; i++) {
    const weir_task *task = &graph->recorded[i].task;
    if (weir__kernel_enqueue(task->kernel, weir__graph_device(graph)) != NULL) why = "it has an enqueue function";
    if (graph->recorded[i].adopted) why = "it was adopted";
    for (uint32_t j = 0; j < task->arg_count; j++)
      if (task->args[j].mode != WEIR_VALUE && task->args[j].buffer->image) why = "it works on images";
  }
  if (why != NULL) weir__check_cannot("a graph", why);
  return why == NULL;
}

// Whether the checker leaves contents in the memory of the device that was asked for.
static bool stays_on_card(const weir_graph *graph, const weir__graph_plan *plan) {
  if (plan->device == plan->asked) return false;
  return (graph->object.context->devices.checked_on_card >> plan->asked->index & 1) != 0;
}

weir_status weir__graph_make_plan(weir_graph *graph) {
  weir__graph_plan *plan = weir__allocate_zeroed(sizeof *plan);
  if (plan == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "graph: no memory");
  plan->references = 1;
  plan->asked = weir__graph_device(graph);
  plan->device = is_checked(graph) ? graph->object.context->devices.checker : plan->asked;
  plan->space = stays_on_card(graph, plan) ? plan->asked->space : plan->device->space;
  plan->timed = graph->timed;
  plan->counts = &graph->counts;
  if (graph->adopted.source != NULL) plan->source = weir__graph_source_retain(graph->adopted.source);
  builder build = {.graph = graph, .plan = plan};
  bool complete = number_buffers(&build) && fill_nodes(&build) && weir__plan_find_intervals(&build) &&
                  weir__plan_find_edges(&build) && weir__plan_find_externals(&build);
  plan->memories = weir__allocate_zeroed((plan->buffer_count + 1) * sizeof *plan->memories);
  plan->outer = weir__allocate((plan->buffer_count + 1) * sizeof *plan->outer);
  complete = complete && plan->memories != NULL && plan->outer != NULL;
  clean_up(&build);
  if (!complete) {
    weir__graph_plan_drop(plan);
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "graph: no memory for a plan of %u tasks", graph->recorded_count);
  }
  weir__graph_lay_out_hosts(plan);
  graph->plan = plan;
  weir__graph_arrange_anew(graph);
  return WEIR_OK;
}
