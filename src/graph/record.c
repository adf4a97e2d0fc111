// SPDX-License-Identifier: Apache-2.0
//
// What a caller recorded in a graph, and how the plan follows changes to it.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "engine/auto.h"
#include "engine/boxes.h"
#include "graph/plan.h"
#include "graph/temporaries.h"

void weir__recorded_clear(struct weir__recorded *recorded) {
  weir__free(recorded->args);
  weir__free(recorded->values);
  weir__free(recorded->autos);
}

static uint32_t count_autos(const weir_task *task) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < task->arg_count; i++) count += task->args[i].mode == WEIR_AUTO;
  return count;
}

// Notes which modes are the code's. False: no memory.
static bool note_autos(struct weir__recorded *recorded, const weir_task *given) {
  if (count_autos(given) == 0) return true;
  recorded->autos = weir__allocate(given->arg_count * sizeof *recorded->autos);
  if (recorded->autos == NULL) return false;
  for (uint32_t i = 0; i < given->arg_count; i++) recorded->autos[i] = given->args[i].mode == WEIR_AUTO;
  return true;
}

void weir__recorded_take_modes(struct weir__recorded *recorded, const weir_device *device) {
  uint32_t count = recorded->autos == NULL ? 0 : recorded->task.arg_count;
  for (uint32_t i = 0; i < count; i++)
    if (recorded->autos[i]) recorded->args[i].mode = WEIR_AUTO;
  weir__fill_modes(device, &recorded->task, recorded->args);
}

static bool grow_recorded(weir_graph *graph) {
  uint32_t capacity = graph->recorded_capacity == 0 ? 16 : graph->recorded_capacity * 2;
  struct weir__recorded *larger = weir__allocate(capacity * sizeof *larger);
  if (larger == NULL) return false;
  for (uint32_t i = 0; i < graph->recorded_count; i++) {
    larger[i] = graph->recorded[i];
    if (larger[i].task.label != NULL) larger[i].task.label = larger[i].label;
  }
  weir__free(graph->recorded);
  graph->recorded = larger;
  graph->recorded_capacity = capacity;
  return true;
}

bool weir__graph_record(weir_graph *graph, const weir_task *task, const weir_task *given,
                        const struct weir__recorded *like) {
  if (graph->recorded_count == graph->recorded_capacity && !grow_recorded(graph)) return false;
  struct weir__recorded *recorded = &graph->recorded[graph->recorded_count];
  *recorded = (struct weir__recorded){.kind = like->kind,
                                      .writes_host = like->writes_host,
                                      .bytes = like->bytes,
                                      .host = like->host,
                                      .scratch = like->scratch,
                                      .adopted = like->adopted,
                                      .wall = like->wall,
                                      .task = *task};
  uint64_t value_bytes = 0;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (task->args[i].mode == WEIR_VALUE)
      value_bytes += weir__graph_padded(task->args[i].bytes);
    else if (task->args[i].shape == WEIR_BOX)
      value_bytes += weir__graph_padded(sizeof(weir_box));
  }
  recorded->args = weir__allocate((task->arg_count + 1) * sizeof *recorded->args);
  recorded->values = weir__allocate(value_bytes);
  if (recorded->args == NULL || recorded->values == NULL || !note_autos(recorded, given)) {
    weir__recorded_clear(recorded);
    return false;
  }
  unsigned char *value = recorded->values;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    weir_arg *arg = &recorded->args[i];
    *arg = task->args[i];
    if (arg->mode == WEIR_VALUE) {
      memcpy(value, arg->value, arg->bytes);
      arg->value = value;
      value += weir__graph_padded(arg->bytes);
      continue;
    }
    if (arg->shape == WEIR_BOX) {
      bool is_box;
      arg->bytes = weir__arg_bytes(arg, &is_box);
      memcpy(value, arg->value, sizeof(weir_box));
      arg->value = value;
      value += weir__graph_padded(sizeof(weir_box));
    }
    arg->mode = weir__graph_mode(arg->mode);
    if (arg->bytes == WEIR_WHOLE) arg->bytes = arg->buffer->bytes - arg->offset;
  }
  recorded->task.args = recorded->args;
  if (task->label != NULL) {
    snprintf(recorded->label, sizeof recorded->label, "%s", task->label);
    recorded->task.label = recorded->label;
  }
  graph->recorded_count++;
  return true;
}

void weir__graph_plan_drop(weir__graph_plan *plan) {
  if (--plan->references > 0) return;
  if (plan->device_data != NULL) plan->device->ops->graphs->forget(plan->device, plan->device_data);
  weir__graph_source_drop(plan->source);
  weir__free(plan->nodes);
  weir__free(plan->args);
  weir__free(plan->successors);
  weir__free(plan->predecessors);
  weir__free(plan->reasons);
  weir__free(plan->externals);
  weir__free(plan->outer);
  weir__free(plan->cuts);
  weir__free(plan->first_cuts);
  weir__free(plan->hosts);
  weir__free(plan->values);
  weir__free(plan->given);
  weir__free(plan->memories);
  weir__free(plan->boxes);
  weir__free(plan);
}

void weir__graph_forget_plan(weir_graph *graph) {
  if (graph->plan == NULL) return;
  weir__temporaries_give_up(graph);
  while (graph->idle_runs != NULL) {
    weir__graph_run *run = graph->idle_runs;
    graph->idle_runs = run->next;
    weir__graph_run_free(run);
  }
  weir__graph_plan_drop(graph->plan);
  graph->plan = NULL;
}

void weir__graph_set_value(weir_graph *graph, uint32_t node, uint32_t index) {
  if (graph->plan == NULL) return;
  const weir_arg *arg = &graph->recorded[node].args[index];
  const weir__graph_arg *planned = &graph->plan->args[graph->plan->nodes[node].first_arg + index];
  memcpy(graph->plan->values + planned->offset, arg->value, arg->bytes);
  graph->plan->stamp++;
}

void weir__graph_buffer_replaced(weir_graph *graph, const weir_buffer *buffer, weir_buffer *replacement) {
  for (uint32_t i = 0; i < graph->buffer_count; i++) {
    if (graph->buffers[i] == buffer) graph->buffers[i] = replacement;
  }
  if (graph->plan != NULL) weir__graph_arrange_anew(graph);
}
