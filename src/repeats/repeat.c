// SPDX-License-Identifier: Apache-2.0
#include "repeats/repeat.h"

#include "base/allocate.h"
#include "base/error.h"
#include "engine/buffer.h"
#include "engine/storage.h"
#include "graph/flight.h"
#include "graph/plan.h"
#include "graph/temporaries.h"

weir__repeat *weir__repeat_create(weir__run *run) {
  weir__repeat *repeat = weir__allocate_zeroed(sizeof *repeat);
  if (repeat == NULL) return NULL;
  repeat->run = *run;
  *run = (weir__run){0};
  return repeat;
}

void weir__repeat_forget_graph(weir__repeat *repeat) {
  if (repeat->graph != NULL) weir__graph_give_up(repeat->graph);
  weir__free(repeat->numbers);
  repeat->graph = NULL;
  repeat->numbers = NULL;
}

void weir__repeat_destroy(weir__repeat *repeat) {
  weir__repeat_forget_graph(repeat);
  weir__run_free(&repeat->run);
  weir__free(repeat);
}

bool weir__bound_reserve(weir__bound *bound, const weir__run *run) {
  void *given = bound->given, *buffers = bound->buffers, *values = bound->values;
  bool enough = weir__run_grow(&given, &bound->given_capacity, run->count, sizeof *bound->given) &&
                weir__run_grow(&buffers, &bound->buffer_capacity, run->buffer_count, sizeof(weir_buffer *)) &&
                weir__run_grow(&values, &bound->value_capacity, (uint32_t)run->value_bytes, 1);
  bound->given = given;
  bound->buffers = buffers;
  bound->values = values;
  return enough;
}

void weir__bound_clear(weir__bound *bound) {
  weir__buffers_unqueue(bound->context, bound->buffers, bound->buffer_count);
  bound->buffer_count = 0;
}

void weir__repeat_task(const weir__repeat *repeat, uint32_t index, const weir__bound *bound, weir_arg *args,
                       weir_task *out_task) {
  const weir__run_task *seen = &repeat->run.tasks[index];
  *out_task = (weir_task){.kernel = seen->kernel,
                          .host = seen->host,
                          .user = bound->given[index].user,
                          .args = args,
                          .arg_count = seen->arg_count,
                          .groups = {seen->groups[0], seen->groups[1], seen->groups[2]},
                          .device = seen->asked,
                          .tag = bound->given[index].tag,
                          .label = seen->label[0] != '\0' ? seen->label : NULL};
  for (uint32_t i = 0; i < seen->arg_count; i++) {
    const weir__run_arg *arg = &repeat->run.args[seen->first_arg + i];
    args[i] = (weir_arg){.offset = arg->offset, .bytes = arg->bytes};
    memcpy(&args[i], &arg->mode, sizeof arg->mode);
    if (arg->mode == WEIR_VALUE)
      args[i].value = bound->values + arg->place;
    else
      args[i].buffer = bound->buffers[arg->place];
  }
}

void weir__bound_revive(const weir__bound *bound, bool live) {
  for (uint32_t i = 0; i < bound->buffer_count; i++) {
    if (bound->buffers[i]->gone) bound->buffers[i]->object.released = !live;
  }
}

static bool record(weir_graph *graph, const weir__repeat *repeat, const weir__bound *bound) {
  const struct weir__recorded call = {.kind = WEIR__GRAPH_CALL};
  weir_arg args[WEIR_MAX_ARGS];
  weir_task task;
  for (uint32_t i = 0; i < repeat->run.count; i++) {
    weir__repeat_task(repeat, i, bound, args, &task);
    if (weir__graph_add(graph, &task, &call, NULL) != WEIR_OK) return false;
  }
  return weir__graph_prepare(graph) == WEIR_OK;
}

// The numbers that the graph gave to the buffers, and whether it has the values where the run has them.
static bool compare(weir__repeat *repeat, const weir__bound *bound) {
  const weir_graph *graph = repeat->graph;
  const weir__graph_plan *plan = graph->plan;
  if (graph->buffer_count != bound->buffer_count || plan->value_bytes < repeat->run.value_bytes) return false;
  for (uint32_t i = 0; i < bound->buffer_count; i++) bound->buffers[i]->run_place = i;
  for (uint32_t i = 0; i < graph->buffer_count; i++) repeat->numbers[i] = graph->buffers[i]->run_place;
  for (uint32_t i = 0; i < repeat->run.count; i++) {
    const weir__run_task *task = &repeat->run.tasks[i];
    for (uint32_t j = 0; j < task->arg_count; j++) {
      const weir__run_arg *arg = &repeat->run.args[task->first_arg + j];
      if (arg->mode == WEIR_VALUE && plan->args[plan->nodes[i].first_arg + j].offset != arg->place) return false;
    }
  }
  return true;
}

static bool make_graph(weir_context *context, weir__repeat *repeat, const weir__bound *bound) {
  repeat->numbers = weir__allocate((bound->buffer_count + 1) * sizeof *repeat->numbers);
  repeat->graph = repeat->numbers != NULL ? weir__graph_new(context, repeat->run.device) : NULL;
  if (repeat->graph == NULL) return false;
  weir__bound_revive(bound, true);
  bool recorded = record(repeat->graph, repeat, bound);
  weir__bound_revive(bound, false);
  if (recorded && compare(repeat, bound)) return true;
  weir__repeat_forget_graph(repeat);
  return false;
}

// Buffers that were temporaries so far, and are none now.
static void check_temporaries(const weir__repeat *repeat, const weir__bound *bound) {
  weir_graph *graph = repeat->graph;
  const weir__graph_plan *plan = graph->plan;
  bool changed = false;
  for (uint32_t k = plan->outer_count; k < plan->buffer_count; k++) {
    uint32_t number = plan->outer[k];
    if (__builtin_expect(weir__temporary_is(bound->buffers[repeat->numbers[number]]), true)) continue;
    weir__temporaries_drop(graph, number);
    changed = true;
  }
  if (changed) weir__graph_arrange(graph);
}

static bool launch(weir_context *context, weir__repeat *repeat, const weir__bound *bound, weir_event **out_event) {
  if (repeat->graph == NULL && !make_graph(context, repeat, bound)) {
    repeat->useless = true;
    return false;
  }
  weir_graph *graph = repeat->graph;
  weir__graph_plan *plan = graph->plan;
  check_temporaries(repeat, bound);
  for (uint32_t k = 0; k < plan->outer_count; k++) {
    uint32_t number = plan->outer[k];
    graph->buffers[number] = bound->buffers[repeat->numbers[number]];
  }
  uint64_t bytes = repeat->run.value_bytes;
  if (bytes > 0 && memcmp(plan->values, bound->values, bytes) != 0) {
    memcpy(plan->values, bound->values, bytes);
    plan->stamp++;
  }
  memcpy(plan->given, bound->given, repeat->run.count * sizeof *plan->given);
  weir__predictor *predictor = context->memory.predictor;
  if (predictor != NULL) weir__predictor_note_run(predictor, repeat->run.tasks[repeat->run.count - 1].place);
  if (!weir__graph_launch_now(graph, out_event)) return false;
  if (plan->outer_count < plan->buffer_count) graph->temporaries.last_launch = graph->object.last_use;
  return true;
}

bool weir__repeat_launch(weir_context *context, weir__repeat *repeat, const weir__bound *bound,
                         weir_event **out_event) {
  weir__kept_error kept;
  weir__error_keep(&kept);
  repeat->launching = true;
  bool launched = launch(context, repeat, bound, out_event);
  repeat->launching = false;
  weir__error_put_back(&kept);
  return launched;
}
