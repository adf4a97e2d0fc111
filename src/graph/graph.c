// SPDX-License-Identifier: Apache-2.0
//
// Graphs as the caller sees them: made, recorded, cleared, released.
#include "graph/graph.h"

#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/structs.h"
#include "device/enqueue.h"
#include "engine/auto.h"
#include "engine/buffer.h"
#include "engine/check.h"
#include "engine/scratch.h"
#include "graph/adopt.h"
#include "graph/flight.h"
#include "graph/plan.h"
#include "graph/queued.h"

static weir_graph *take(weir_context *context) {
  weir_graph *graph =
      (weir_graph *)weir__object_take(&context->objects.graphs, context, context->host.window.live.oldest);
  if (graph == NULL) return NULL;
  weir__graph_destroy(&graph->object);
  weir__object kept = graph->object;
  *graph = (weir_graph){.object = kept, .sync = weir__sync_create()};
  return graph;
}

// The options of a new graph.
static weir_status configure(weir_graph *graph, const weir_graph_options *options) {
  graph->device = options->device;
  graph->device_given = options->device != NULL;
  graph->timed = options->timing;
  graph->queue = options->queue - 1; // 0: any
  return options->device == NULL ? WEIR_OK : weir__graph_check_queue(options->device, graph->queue, "graph create");
}

// The lock is held.
static weir_status make(weir_context *context, const weir_graph_options *options, weir_graph **out_graph) {
  weir_graph *graph = take(context);
  context->memory.reclaim = weir__graphs_reclaim;
  if (graph == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "graph create: no memory");
  weir_status status = configure(graph, options);
  if (status == WEIR_OK)
    *out_graph = graph;
  else
    weir__object_give(&context->objects.graphs, &graph->object);
  return status;
}

weir_graph *weir__graph_new(weir_context *context, weir_device *device) {
  weir_graph *graph = NULL;
  if (make(context, &(weir_graph_options){.device = device}, &graph) == WEIR_OK) graph->own = true;
  return graph;
}

weir_status weir_graph_create_sized(weir_context *context, const weir_graph_options *given, size_t options_size,
                                    weir_graph **out_graph) {
  if (out_graph == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph create: out_graph is NULL");
  *out_graph = NULL;
  if (context == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph create: the context is NULL");
  weir_graph_options options;
  weir_status status = weir__struct_take(&options, sizeof options, given, options_size, "graph create");
  if (status != WEIR_OK) return status;
  if (options.device != NULL && options.device->host != &context->host)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph create: the device belongs to another context");
  weir__context_lock_at_once(context);
  status = make(context, &options, out_graph);
  weir__context_unlock(context);
  return status;
}

// The graph's own buffers and kernels return, after the last launch that uses them.
static void drop_own(weir_graph *graph) {
  weir__graph_drop_adopted(graph);
  for (uint32_t i = 0; i < graph->recorded_count; i++) {
    if (graph->recorded[i].scratch != NULL) weir__buffer_give_up(graph->recorded[i].scratch);
    graph->recorded[i].scratch = NULL;
  }
}

void weir__graph_empty(weir_graph *graph) {
  weir__graph_forget_plan(graph);
  weir__graph_forget_adopted(graph);
  for (uint32_t i = 0; i < graph->recorded_count; i++) weir__recorded_clear(&graph->recorded[i]);
  graph->recorded_count = 0;
  graph->buffer_count = 0;
  if (!graph->device_given) graph->device = NULL;
}

void weir__graph_destroy(weir__object *object) {
  weir_graph *graph = (weir_graph *)object;
  weir__graph_empty(graph);
  weir__free(graph->recorded);
  weir__free(graph->buffers);
  weir__free(graph->times);
  weir__sync_drop(graph->sync);
  graph->sync = NULL;
  graph->recorded = NULL;
  graph->buffers = NULL;
  graph->times = NULL;
  graph->recorded_capacity = graph->buffer_capacity = 0;
}

// Checks a task, and finds the device that the graph runs on when this task is in it too.
static weir_status choose_device(const weir_graph *graph, const weir_task *given, weir_device **out_device) {
  weir_task task = *given;
  if (graph->device != NULL && task.kernel != NULL && task.device == NULL) task.device = graph->device;
  weir_status status = weir__check_task(graph->object.context, &(weir__submission){.task = &task}, out_device);
  if (status != WEIR_OK || graph->device == NULL || graph->device == *out_device) return status;
  char what[WEIR__WHAT_BYTES];
  weir__describe_task(given, what);
  return weir__error(WEIR_ERROR_NO_CODE, "%s: it would run on device %s, but all tasks of this graph run on device %s",
                     what, (*out_device)->name, graph->device->name);
}

static weir_status add(weir_graph *graph, const weir_task *task, const weir_task *given,
                       const struct weir__recorded *like, uint32_t *out_node);

// Takes the modes from the code first.
static __attribute__((noinline)) weir_status add_auto(weir_graph *graph, const weir_task *given,
                                                      const struct weir__recorded *like, const weir_device *device,
                                                      uint32_t *out_node) {
  weir_arg args[WEIR_MAX_ARGS];
  weir_task task;
  weir__take_modes(device, given, args, &task);
  return add(graph, &task, given, like, out_node);
}

// The graph has a buffer for the scratch memory of a task whose kernel's enqueue function wants some.
static __attribute__((noinline)) weir_status add_scratch(weir_graph *graph, const weir_task *given,
                                                         const weir_device *device, uint32_t *out_node) {
  weir_arg args[WEIR_MAX_ARGS];
  weir_task task;
  struct weir__recorded like = {.kind = WEIR__GRAPH_CALL};
  weir_status status = weir__scratch_add(graph->object.context, device, given, args, &task, &like.scratch);
  if (status != WEIR_OK) return status;
  status = add(graph, &task, &task, &like, out_node);
  if (status != WEIR_OK) weir__buffer_give_up(like.scratch);
  return status;
}

weir_status weir__graph_add(weir_graph *graph, const weir_task *task, const struct weir__recorded *like,
                            uint32_t *out_node) {
  return add(graph, task, task, like, out_node);
}

static weir_status add(weir_graph *graph, const weir_task *task, const weir_task *given,
                       const struct weir__recorded *like, uint32_t *out_node) {
  weir_context *context = graph->object.context;
  if (graph->queued > 0) {
    weir_status status = weir__graph_settle(graph, "graph add");
    if (status != WEIR_OK) return status;
  }
  if (task->after_count > 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph add: a recorded task cannot name events in `after`");
  weir_device *device = graph->device;
  if (like->kind == WEIR__GRAPH_CALL) {
    weir_status status = choose_device(graph, task, &device);
    if (status == WEIR_PENDING) return add_scratch(graph, task, device, out_node);
    if (status != WEIR_OK) return status;
  }
  weir__checked checked;
  weir__access accesses[WEIR_MAX_ARGS];
  uint32_t space = device == NULL ? WEIR__HOST_SPACE : device->space;
  weir_status status = weir__check_args(context, task, space, accesses, &checked);
  if (status == WEIR_PENDING) return add_auto(graph, task, like, device, out_node);
  if (status == WEIR_OK && like->kind != WEIR__GRAPH_CALL) status = weir__graph_check_images(graph, task, like->kind);
  if (status != WEIR_OK) return status;
  if (!weir__graph_record(graph, task, given, like)) {
    char what[WEIR__WHAT_BYTES];
    weir__describe_task(task, what);
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: no memory to record it", what);
  }
  graph->device = device;
  if (out_node != NULL) *out_node = graph->recorded_count - 1;
  weir__graph_forget_plan(graph);
  return WEIR_OK;
}

weir_status weir_graph_add_sized(weir_graph *graph, const weir_task *given, size_t task_size, uint32_t *out_node) {
  if (out_node != NULL) *out_node = 0;
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph add");
  if (status != WEIR_OK) return status;
  if (given == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph add: the task is NULL");
  weir_task own;
  const weir_task *task = weir__task_take(&own, given, task_size, "graph add");
  if (task == NULL) return WEIR_ERROR_INVALID_ARGUMENT;
  if (task->destroy != NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph add: only weir_submit takes a task with `destroy`");
  if (task->group != NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph add: only weir_submit takes a task with a group");
  weir_context *context = graph->object.context;
  const struct weir__recorded call = {.kind = WEIR__GRAPH_CALL};
  weir__context_lock_at_once(context);
  status = weir__graph_add(graph, task, &call, out_node);
  weir__context_unlock(context);
  return status;
}

// Whether the kernel wants as much scratch memory as the graph has for the task.
static weir_status check_scratch(const struct weir__recorded *recorded, const weir_device *device) {
  const weir__enqueue *enqueue = weir__kernel_enqueue(recorded->task.kernel, device);
  uint64_t has = recorded->scratch != NULL ? recorded->scratch->bytes : 0;
  uint64_t wants = weir__scratch_bytes(enqueue, device);
  if (has == wants) return WEIR_OK;
  char what[WEIR__WHAT_BYTES];
  weir__describe_task(&recorded->task, what);
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "%s: its kernel wants %llu bytes of scratch memory now, and %llu when it was recorded; record the "
                     "graph anew",
                     what, (unsigned long long)wants, (unsigned long long)has);
}

// Kernels may have other code than when their tasks were recorded, or when the plan was made.
static weir_status check_code(weir_graph *graph) {
  weir_context *context = graph->object.context;
  if (graph->code_changes == context->graphs.code_changes) return WEIR_OK;
  for (uint32_t i = 0; i < graph->recorded_count; i++) {
    const weir_task *task = &graph->recorded[i].task;
    const weir_kernel *kernel = task->kernel;
    if (kernel == NULL || kernel->object.released || kernel->code_change <= graph->code_changes) continue;
    weir__graph_forget_plan(graph);
    weir_device *device = weir__graph_device(graph);
    if (device->ops->has_code(device, kernel)) weir__recorded_take_modes(&graph->recorded[i], device);
    weir_status status = choose_device(graph, task, &device);
    if (status == WEIR_OK || status == WEIR_PENDING) status = check_scratch(&graph->recorded[i], device);
    if (status != WEIR_OK) return status;
  }
  graph->code_changes = context->graphs.code_changes;
  return WEIR_OK;
}

weir_status weir__graph_prepare(weir_graph *graph) {
  weir_status status = check_code(graph);
  if (status != WEIR_OK || graph->plan != NULL) return status;
  uint64_t start = weir__clock_ns();
  status = weir__graph_make_plan(graph);
  if (status != WEIR_OK) return status;
  uint64_t build_ns = weir__clock_ns() - start;
  weir_device *device = graph->plan->device;
  if (device->ops->graphs != NULL) {
    status = device->ops->graphs->build(device, graph->plan, &build_ns);
    if (status != WEIR_OK) {
      weir__graph_forget_plan(graph);
      return status;
    }
  }
  graph->build_ns = build_ns;
  return WEIR_OK;
}

weir_status weir_graph_build(weir_graph *graph) {
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph build");
  if (status != WEIR_OK) return status;
  weir_context *context = graph->object.context;
  weir__context_lock_at_once(context);
  status = weir__graph_check(graph, "graph build");
  weir__context_unlock(context);
  return status;
}

weir_status weir_graph_information_sized(weir_graph *graph, weir_graph_info *out_info, size_t info_size) {
  if (out_info == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph information: out_info is NULL");
  weir_graph_info info = {0};
  weir__struct_give(out_info, info_size, &info, sizeof info);
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph information");
  if (status != WEIR_OK) return status;
  weir_context *context = graph->object.context;
  weir__context_lock_at_once(context);
  if (context->devices.polls | context->devices.flushes) {
    weir__context_flush(context);
    weir__context_poll(context);
  }
  info = (weir_graph_info){.tasks = graph->recorded_count,
                           .running = graph->running + graph->queued,
                           .edges = graph->plan == NULL ? 0 : graph->plan->edge_count,
                           .build_ns = graph->build_ns};
  weir__context_unlock(context);
  weir__struct_give(out_info, info_size, &info, sizeof info);
  return WEIR_OK;
}

weir_status weir_graph_clear(weir_graph *graph) {
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph clear");
  if (status != WEIR_OK) return status;
  weir_context *context = graph->object.context;
  weir__context_lock(context);
  status = weir__graph_settle(graph, "graph clear");
  if (status == WEIR_OK) drop_own(graph);
  if (status == WEIR_OK) weir__graph_empty(graph);
  weir__context_unlock(context);
  return status;
}

// Frees a graph that was released, once its launches are done.
static void let_go(weir_graph *graph) {
  drop_own(graph);
  weir__graph_empty(graph);
  graph->to_be_freed = graph->running > 0;
  if (!graph->to_be_freed) weir__object_give(&graph->object.context->objects.graphs, &graph->object);
}

void weir__graph_unqueue(weir_graph *graph) {
  for (uint32_t i = 0; i < graph->recorded_count; i++) {
    if (graph->recorded[i].task.kernel != NULL) weir__kernel_unqueue(graph->recorded[i].task.kernel);
  }
  if (--graph->queued == 0 && graph->object.released) let_go(graph);
}

void weir__graph_give_up(weir_graph *graph) {
  graph->object.released = true;
  if (graph->queued == 0) let_go(graph);
}

weir_status weir_graph_release(weir_graph *graph) {
  if (graph == NULL) return WEIR_OK;
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph release");
  if (status != WEIR_OK) return status;
  weir_context *context = graph->object.context;
  weir__context_lock_at_once(context);
  if (graph->object.released)
    status = weir__error(WEIR_ERROR_RELEASED, "graph release: the graph was released before");
  else
    weir__graph_give_up(graph);
  weir__context_unlock(context);
  return status;
}
