// SPDX-License-Identifier: Apache-2.0
//
// Graphs as the caller sees them: recording, replacing, launching.
#include "api/graph.h"

#include <stdio.h>
#include <string.h>

#include "api/graph_plan.h"
#include "api/submit.h"
#include "api/transfer.h"
#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"

weir_status weir_graph_create(weir_context *context, weir_graph **out_graph) {
  if (out_graph == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph create: out_graph is NULL");
  *out_graph = NULL;
  if (context == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph create: the context is NULL");
  weir__context_lock(context);
  weir_graph *graph = (weir_graph *)weir__object_take(&context->graphs, context, context->window.live.oldest);
  if (graph != NULL) {
    weir__graph_destroy(&graph->object);
    graph->device = NULL;
    graph->launched = false;
    graph->build_ns = 0;
  }
  weir__context_unlock(context);
  if (graph == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "graph create: no memory");
  *out_graph = graph;
  return WEIR_OK;
}

void weir__graph_destroy(weir__object *object) {
  weir_graph *graph = (weir_graph *)object;
  for (uint32_t i = 0; i < graph->recorded_count; i++) weir__recorded_clear(&graph->recorded[i]);
  weir__free(graph->recorded);
  weir__free(graph->buffers);
  while (graph->idle_runs != NULL) {
    weir__graph_run *run = graph->idle_runs;
    graph->idle_runs = run->next;
    weir__graph_run_free(run);
  }
  if (graph->plan != NULL) weir__graph_plan_drop(graph->plan);
  graph->recorded = NULL;
  graph->buffers = NULL;
  graph->plan = NULL;
  graph->recorded_count = graph->recorded_capacity = graph->buffer_count = graph->buffer_capacity = 0;
}

static weir_status add(weir_graph *graph, const weir_task *task, uint32_t *out_node) {
  weir_context *context = graph->object.context;
  char what[WEIR__WHAT_BYTES];
  if (graph->launched)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph add: the graph was launched, so no task can be added");
  if (task->after_count > 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph add: a recorded task cannot name events in `after`");
  weir_device *device;
  weir_status status = weir__check_task(context, task, &device);
  if (status != WEIR_OK) return status;
  weir__checked checked;
  weir__access accesses[WEIR_MAX_ARGS];
  status = weir__check_args(context, task, device->space, accesses, &checked);
  if (status != WEIR_OK) return status;
  weir__describe_task(task, what);
  if (graph->device != NULL && device != graph->device) {
    if (task->device == NULL && task->kernel != NULL && graph->device->ops->has_code(graph->device, task->kernel))
      device = graph->device;
    else
      return weir__error(WEIR_ERROR_NO_CODE, "%s: all tasks of a graph run on one device, this one's is %s", what,
                         graph->device->name);
  }
  if (!weir__graph_record(graph, task))
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: no memory to record it", what);
  graph->device = device;
  if (out_node != NULL) *out_node = graph->recorded_count - 1;
  weir__graph_forget_plan(graph);
  return WEIR_OK;
}

weir_status weir_graph_add(weir_graph *graph, const weir_task *task, uint32_t *out_node) {
  if (out_node != NULL) *out_node = 0;
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph add");
  if (status != WEIR_OK) return status;
  if (task == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph add: the task is NULL");
  weir_context *context = graph->object.context;
  weir__context_lock(context);
  status = add(graph, task, out_node);
  weir__context_unlock(context);
  return status;
}

static weir_status set_arg(weir_graph *graph, uint32_t node, uint32_t index, const weir_arg *arg) {
  if (node >= graph->recorded_count || index >= graph->recorded[node].task.arg_count)
    return weir__error(WEIR_ERROR_OUT_OF_RANGE, "graph set arg: there is no argument %u of node %u", index, node);
  struct weir__recorded *recorded = &graph->recorded[node];
  weir_arg *old = &recorded->args[index];
  if (old->mode == WEIR_VALUE) {
    if (arg->mode != WEIR_VALUE || arg->value == NULL || arg->bytes != old->bytes)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph set arg: argument %u of node %u is a value of %llu bytes",
                         index, node, (unsigned long long)old->bytes);
    memcpy((void *)(uintptr_t)old->value, arg->value, arg->bytes);
    weir__graph_set_value(graph, node, index);
    return WEIR_OK;
  }
  // The new argument is checked together with the others of its task.
  weir_arg kept = *old;
  weir_arg changed = *arg;
  if (changed.mode != WEIR_VALUE && changed.bytes == WEIR_WHOLE && changed.offset == kept.offset)
    changed.bytes = kept.bytes;
  if (changed.mode != kept.mode || changed.offset != kept.offset || changed.bytes != kept.bytes)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "graph set arg: argument %u of node %u must keep its mode and its range of %llu bytes from %llu",
                       index, node, (unsigned long long)kept.bytes, (unsigned long long)kept.offset);
  *old = changed;
  weir_context *context = graph->object.context;
  weir__checked checked;
  weir__access accesses[WEIR_MAX_ARGS];
  weir_status status = weir__check_args(context, &recorded->task, graph->device->space, accesses, &checked);
  if (status != WEIR_OK)
    *old = kept;
  else
    weir__graph_forget_plan(graph);
  return status;
}

weir_status weir_graph_set_arg(weir_graph *graph, uint32_t node, uint32_t index, const weir_arg *arg) {
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph set arg");
  if (status != WEIR_OK) return status;
  if (arg == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph set arg: the argument is NULL");
  weir_context *context = graph->object.context;
  weir__context_lock(context);
  status = set_arg(graph, node, index, arg);
  weir__context_unlock(context);
  return status;
}

static weir_status replace_buffer(weir_graph *graph, weir_buffer *buffer, weir_buffer *replacement) {
  if (replacement->bytes < buffer->bytes)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "graph replace buffer: buffer %llu '%s' has %llu bytes, its replacement %llu '%s' only %llu",
                       (unsigned long long)buffer->id, buffer->label, (unsigned long long)buffer->bytes,
                       (unsigned long long)replacement->id, replacement->label, (unsigned long long)replacement->bytes);
  bool replacement_known = false, found = false;
  for (uint32_t i = 0; i < graph->recorded_count; i++) {
    const weir_task *task = &graph->recorded[i].task;
    for (uint32_t j = 0; j < task->arg_count; j++) {
      if (task->args[j].mode == WEIR_VALUE) continue;
      found = found || task->args[j].buffer == buffer;
      replacement_known = replacement_known || task->args[j].buffer == replacement;
    }
  }
  if (!found)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph replace buffer: no task names buffer %llu '%s'",
                       (unsigned long long)buffer->id, buffer->label);
  if (replacement_known && replacement != buffer)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "graph replace buffer: the graph names the replacement %llu '%s' already",
                       (unsigned long long)replacement->id, replacement->label);
  for (uint32_t i = 0; i < graph->recorded_count; i++) {
    struct weir__recorded *recorded = &graph->recorded[i];
    for (uint32_t j = 0; j < recorded->task.arg_count; j++) {
      if (recorded->args[j].mode != WEIR_VALUE && recorded->args[j].buffer == buffer)
        recorded->args[j].buffer = replacement;
    }
  }
  weir__graph_buffer_replaced(graph, buffer, replacement);
  return WEIR_OK;
}

weir_status weir_graph_replace_buffer(weir_graph *graph, weir_buffer *buffer, weir_buffer *replacement) {
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph replace buffer");
  if (status != WEIR_OK) return status;
  weir_context *context = graph->object.context;
  // The buffer that is replaced may be released already.
  if (buffer == NULL || buffer->object.kind != WEIR__KIND_BUFFER)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph replace buffer: the buffer is %s",
                       buffer == NULL ? "NULL" : "not a buffer");
  status = weir__object_check(replacement, WEIR__KIND_BUFFER, context, "graph replace buffer, replacement");
  if (status != WEIR_OK) return status;
  weir__context_lock(context);
  status = replace_buffer(graph, buffer, replacement);
  weir__context_unlock(context);
  return status;
}

static weir_status prepare(weir_graph *graph) {
  if (graph->plan != NULL) return WEIR_OK;
  uint64_t start = weir__clock_ns();
  weir_status status = weir__graph_make_plan(graph);
  if (status != WEIR_OK) return status;
  uint64_t build_ns = weir__clock_ns() - start;
  if (graph->device->ops->graph_build != NULL) {
    status = graph->device->ops->graph_build(graph->device, graph, &build_ns);
    if (status != WEIR_OK) {
      weir__graph_forget_plan(graph);
      return status;
    }
  }
  graph->build_ns = build_ns;
  return WEIR_OK;
}

// Checks that everything the graph names is still there.
static weir_status check_names(weir_graph *graph) {
  weir_context *context = graph->object.context;
  for (uint32_t i = 0; i < graph->buffer_count; i++) {
    weir_status status = weir__object_check(graph->buffers[i], WEIR__KIND_BUFFER, context, "graph launch");
    if (status != WEIR_OK) return status;
  }
  for (uint32_t i = 0; i < graph->recorded_count; i++) {
    weir_kernel *kernel = graph->recorded[i].task.kernel;
    if (kernel == NULL || !kernel->object.released) continue;
    return weir__error(WEIR_ERROR_RELEASED, "graph launch: the kernel of node %u was released before", i);
  }
  return WEIR_OK;
}

// Brings the contents that a launch needs to its device, and waits for room in the window.
static weir__enter_result make_room(weir_context *context, weir__graph_run *run, uint32_t *out_write_backs,
                                    weir_status *out_status) {
  uint32_t count = run->plan->external_count, slots = 0;
  *out_write_backs = 0;
  if (context->space_count > 1) {
    weir__enter_result result = weir__transfer_accesses(context, run->accesses, count, out_write_backs, out_status);
    if (result != WEIR__ENTERED) return result;
    slots = weir__write_back_slots(context, run->accesses, count, *out_write_backs);
    if (!weir__range_pool_reserve(&context->ranges, count + *out_write_backs))
      return weir__no_memory(NULL, "arguments", out_status);
  }
  return weir__enter_wait(context, NULL, slots + 1, out_status);
}

weir_status weir_graph_launch(weir_graph *graph, weir_event **out_event) {
  if (out_event != NULL) *out_event = NULL;
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph launch");
  if (status != WEIR_OK) return status;
  weir_context *context = graph->object.context;
  weir__context_lock(context);
  weir__enter_result result;
  do {
    result = WEIR__ENTER_FAILED;
    if (graph->recorded_count == 0) {
      status = weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph launch: the graph has no tasks");
      break;
    }
    status = prepare(graph);
    if (status == WEIR_OK) status = check_names(graph);
    if (status != WEIR_OK) break;
    weir__graph_run *run = weir__graph_run_take(graph);
    if (run == NULL) {
      status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "graph launch: no memory for %u tasks", graph->recorded_count);
      break;
    }
    uint32_t write_backs;
    result = make_room(context, run, &write_backs, &status);
    if (result != WEIR__ENTERED) {
      weir__graph_run_give(run);
      continue;
    }
    weir__request request = {.device = graph->device,
                             .accesses = run->accesses,
                             .checked.access_count = graph->plan->external_count,
                             .fresh = run->fresh,
                             .checked.repeats = true,
                             .checked.needs_storage = UINT64_MAX,
                             .checked.ranged = true,
                             .run = run};
    result = weir__enter(context, &request, out_event, &status);
    if (result == WEIR__ENTERED) {
      if (write_backs > 0)
        weir__write_back(context, run->accesses, run->plan->external_count, write_backs,
                         out_event != NULL ? *out_event : NULL);
      graph->launched = true;
      graph->object.last_use = run->task_id;
      for (uint32_t i = 0; i < graph->recorded_count; i++) {
        if (graph->recorded[i].task.kernel != NULL) graph->recorded[i].task.kernel->object.last_use = run->task_id;
      }
    } else {
      weir__graph_run_give(run);
    }
  } while (result == WEIR__ENTER_AGAIN);
  weir__context_unlock(context);
  return status;
}

uint32_t weir_graph_node_count(const weir_graph *graph) {
  return weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph") == WEIR_OK ? graph->recorded_count : 0;
}

uint64_t weir_graph_edge_count(const weir_graph *graph) {
  if (weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph") != WEIR_OK) return 0;
  weir_context *context = graph->object.context;
  weir__context_lock(context);
  // What the caller sees does not depend on whether the plan exists yet.
  weir_graph *mutable_graph = (weir_graph *)(uintptr_t)graph;
  uint64_t count = 0;
  if (graph->recorded_count > 0 && prepare(mutable_graph) == WEIR_OK) count = graph->plan->edge_count;
  weir__context_unlock(context);
  return count;
}

uint64_t weir_graph_build_time(const weir_graph *graph) {
  return weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph") == WEIR_OK ? graph->build_ns : 0;
}

weir_status weir_graph_release(weir_graph *graph) {
  if (graph == NULL) return WEIR_OK;
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph release");
  if (status != WEIR_OK) return status;
  weir_context *context = graph->object.context;
  weir__context_lock(context);
  if (graph->object.released)
    status = weir__error(WEIR_ERROR_RELEASED, "graph release: the graph was released before");
  else
    weir__object_give(&context->graphs, &graph->object);
  weir__context_unlock(context);
  return status;
}
