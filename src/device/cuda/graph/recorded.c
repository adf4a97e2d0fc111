// SPDX-License-Identifier: Apache-2.0
//
// Recorded graphs on a CUDA device: how they are made ready and launched.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/cuda/graph/adopted.h"
#include "device/cuda/graph/recorded_inside.h"
#include "device/cuda/queue/call.h"
#include "device/cuda/queue/launch.h"
#include "plan/reduction.h"

enum {
  MOST_HOMES = 8, // as many streams run side by side unless the driver is told otherwise
  MOST_REDUCED = 1 << 16,
  MOST_WHY = 112, // bytes of why some functions are called, before how many are
};

static void drop_marks(weir__cuda_device *device, weir__cuda_plan *plan) {
  for (uint32_t i = 0; plan->marks != NULL && i < plan->mark_count; i++) {
    if (plan->marks[i] != NULL) device->driver->cuEventDestroy(plan->marks[i]);
  }
  weir__free(plan->marks);
  plan->marks = NULL;
}

static void destroy_plan(weir__cuda_device *device, weir__cuda_plan *plan) {
  bool entered = weir__cuda_enter(device) == CUDA_SUCCESS;
  weir__cuda_plan_free_layout(device, plan, entered);
  if (entered) {
    drop_marks(device, plan);
    weir__cuda_leave(device);
  }
  weir__free(plan->marks);
  weir__plan_graph_free(&plan->order);
  weir__free(plan->apart);
  weir__free(plan->bytes);
  weir__free(plan->parameters);
  weir__cuda_binding_free(&plan->binding);
  weir__free(plan);
}

void weir__cuda_graph_forget(weir_device *base, void *device_data) {
  destroy_plan(weir__cuda_of(base), device_data);
}

// The plan's edges without those that others imply; in a context that runs everything in order just the chain. In a large graph
// the plan has hardly one too many, and looking for them takes time with the square of its size.
static weir_status find_order(const weir__graph_plan *plan, bool in_order, weir__plan_graph *out_order) {
  weir__plan_edge *edges = weir__allocate((plan->edge_count + plan->node_count) * sizeof *edges);
  if (edges == NULL) return WEIR_ERROR_OUT_OF_MEMORY;
  size_t count = 0;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    const weir__graph_node *node = &plan->nodes[i];
    for (uint32_t j = 0; j < node->predecessor_count && !in_order; j++)
      edges[count++] = (weir__plan_edge){plan->predecessors[node->first_predecessor + j], i};
    if (in_order && i > 0) edges[count++] = (weir__plan_edge){i - 1, i};
  }
  weir__plan_graph all;
  weir_status status = weir__plan_graph_build(plan->node_count, edges, count, &all);
  weir__free(edges);
  if (status != WEIR_OK) return status;
  if (plan->node_count > MOST_REDUCED) {
    *out_order = all;
    return WEIR_OK;
  }
  status = weir__plan_reduce(&all, out_order);
  weir__plan_graph_free(&all);
  return status;
}

bool weir__cuda_node_adopted(const weir__graph_node *node) {
  return node->kernel != NULL && weir__cuda_code_of(node->kernel)->adopted != 0;
}

bool weir__cuda_node_calls(const weir__graph_node *node) {
  return node->kernel != NULL && weir__cuda_code_of(node->kernel)->head.enqueue != NULL;
}

// What copies and fills, and where parameters are. False: no memory.
static bool make_bytes(const weir__graph_plan *plan, bool has_bytes, weir__cuda_plan *made) {
  if (has_bytes) made->bytes = weir__allocate_zeroed(plan->node_count * sizeof *made->bytes);
  if (has_bytes && made->bytes == NULL) return false;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    const weir__graph_node *node = &plan->nodes[i];
    if (node->kind != WEIR__GRAPH_CALL)
      made->bytes[i] = (weir__cuda_bytes){.fill = node->kind == WEIR__GRAPH_FILL, .count = node->bytes};
  }
  for (uint32_t i = 0; i < plan->host_count; i++) {
    weir__cuda_bytes *bytes = &made->bytes[plan->hosts[i].node];
    *(plan->hosts[i].writes ? &bytes->to_host : &bytes->from_host) = true;
  }
  for (uint32_t i = 0; i < plan->arg_count; i++) {
    const weir__graph_arg *arg = &plan->args[i];
    made->parameters[i] = arg->mode == WEIR_VALUE ? plan->values + arg->offset : (void *)&made->nowhere;
  }
  return true;
}

static uint32_t count_calls(const weir__graph_plan *plan) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < plan->node_count; i++) count += weir__cuda_node_calls(&plan->nodes[i]);
  return count;
}

// Enqueue functions that must not be captured go apart, though the plan would be an executable graph otherwise; all nodes go one by
// one where none can be captured. False: no memory.
static bool note_refusals(const weir__cuda_device *device, const weir__graph_plan *plan, weir__cuda_plan *made) {
  if (!weir__cuda_can_capture(device)) {
    snprintf(made->why, sizeof made->why, "the driver does not capture queues");
    made->one_by_one = true;
    return true;
  }
  made->apart = weir__allocate_zeroed(plan->node_count * sizeof *made->apart);
  for (uint32_t i = 0; made->apart != NULL && i < plan->node_count; i++) {
    const weir__graph_node *node = &plan->nodes[i];
    if (!weir__cuda_node_calls(node)) continue;
    const weir__enqueue *enqueue = weir__cuda_code_of(node->kernel)->head.enqueue;
    if ((enqueue->code.flags & WEIR_ENQUEUE_NO_CAPTURE) == 0) continue;
    if (made->apart_count == 0)
      snprintf(made->why, sizeof made->why, "node %u '%s': its code must not be captured", i,
               weir__graph_node_name(node));
    made->apart[i] = true;
    made->apart_count++;
  }
  return made->apart != NULL;
}

static bool has_bytes(const weir__graph_plan *plan) {
  for (uint32_t i = 0; i < plan->node_count; i++) {
    if (plan->nodes[i].kind != WEIR__GRAPH_CALL) return true;
  }
  return false;
}

// Events around each node, where executable graphs do not have them. The device's context is current.
static CUresult make_marks(weir__cuda_device *device, const weir__graph_plan *plan, weir__cuda_plan *made) {
  bool traces = device->base.device.host->trace != NULL, by_nodes = made->one_by_one || made->apart_count > 0;
  if (made->marks != NULL || (!plan->timed && !(traces && by_nodes))) return CUDA_SUCCESS;
  made->marks = weir__allocate_zeroed(2 * (size_t)plan->node_count * sizeof(CUevent));
  if (made->marks == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  made->mark_count = 2 * plan->node_count;
  CUresult result = weir__cuda_begin_times(device);
  for (uint32_t i = 0; i < made->mark_count && result == CUDA_SUCCESS; i++)
    result = device->driver->cuEventCreate(&made->marks[i], CU_EVENT_DEFAULT);
  if (result != CUDA_SUCCESS) drop_marks(device, made);
  return result;
}

// What adopted nodes need to be launched one by one.
static CUresult prepare_adopted(const weir__graph_plan *plan) {
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < plan->node_count && result == CUDA_SUCCESS; i++)
    if (weir__cuda_node_adopted(&plan->nodes[i])) result = weir__cuda_adopted_prepare(plan->nodes[i].user);
  return result;
}

// What is launched: executable graphs, or nodes one by one. A copy or fill can only be made where it is known which memory it is about:
// then the first launch makes the graph. The device's context is current.
static CUresult make_launches(weir__cuda_device *device, const weir__graph_plan *plan, weir__cuda_plan *made) {
  bool traces = device->base.device.host->trace != NULL, with_bytes = has_bytes(plan);
  made->call_count = count_calls(plan);
  made->children = (device->base.device.host->seed >> 5 & 1) != 0; // a seed, for tests
  made->one_by_one = plan->timed || (traces && with_bytes);
  if (made->call_count > 0) made->set = weir__cuda_take_set(device);
  if (made->call_count > 0 && made->one_by_one) snprintf(made->why, sizeof made->why, "times of its nodes are wanted");
  if (made->call_count > 0 && !made->one_by_one && !note_refusals(device, plan, made)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!made->one_by_one && !make_bytes(plan, with_bytes, made)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!weir__cuda_plan_lay_out(device, plan, made)) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = make_marks(device, plan, made);
  if (result == CUDA_SUCCESS && made->one_by_one && plan->source != NULL) result = prepare_adopted(plan);
  if (result != CUDA_SUCCESS || made->one_by_one || with_bytes || made->call_count > 0) return result;
  result = weir__cuda_exec_create(device, made->steps, NULL, plan->node_count, traces ? WEIR__CUDA_EXEC_MARKS : 0,
                                  &made->segments.list[0].exec);
  made->counts.made += result == CUDA_SUCCESS;
  return result;
}

weir_status weir__cuda_graph_build(weir_device *base, weir__graph_plan *plan, uint64_t *out_build_ns) {
  weir__cuda_device *device = weir__cuda_of(base);
  uint64_t start = weir__clock_ns();
  weir__cuda_plan *made = weir__allocate_zeroed(sizeof *made);
  if (made == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "graph: no memory");
  bool in_order = (base->host->flags & WEIR_CONTEXT_IN_ORDER) != 0;
  weir_status status = find_order(plan, in_order, &made->order);
  made->parameters = weir__allocate((plan->arg_count + 1) * sizeof(void *));
  if (!weir__cuda_binding_create(&made->binding, plan) || made->parameters == NULL) status = WEIR_ERROR_OUT_OF_MEMORY;
  if (status != WEIR_OK) {
    weir__error(status, "graph: no memory for a plan of %u tasks", plan->node_count);
  } else {
    CUresult result = weir__cuda_enter(device);
    if (result == CUDA_SUCCESS) {
      result = make_launches(device, plan, made);
      weir__cuda_leave(device);
    }
    status = weir__cuda_error(device->driver, result, "graph: %u tasks on %s", plan->node_count, base->name);
  }
  if (status != WEIR_OK) {
    destroy_plan(device, made);
    return status;
  }
  plan->device_data = made;
  *out_build_ns += weir__clock_ns() - start;
  return WEIR_OK;
}

// A run's arguments stay where they are.
static void bind_parameters(const weir__graph_run *run, weir__cuda_plan *plan) {
  if (plan->bound_args == run->args && plan->bound_values == run->values) return;
  plan->bound_args = run->args;
  plan->bound_values = run->values;
  for (uint32_t i = 0; i < run->plan->arg_count; i++)
    plan->parameters[i] = run->plan->args[i].mode == WEIR_VALUE ? run->args[i] : (void *)&run->args[i];
  for (uint32_t i = 0; plan->bytes != NULL && i < run->plan->node_count; i++)
    plan->bytes[i].args = run->args + run->plan->nodes[i].first_arg;
}

static CUresult launch_node(weir__cuda_device *device, const weir__graph_run *run, const weir__graph_node *node,
                            void **parameters, CUstream stream) {
  void *const *args = run->args + node->first_arg;
  CUdeviceptr to = node->arg_count > 0 ? (CUdeviceptr)(uintptr_t)args[0] : 0;
  uint32_t pattern;
  CUresult result = CUDA_SUCCESS;
  switch (node->kind) {
  case WEIR__GRAPH_COPY:
    return device->driver->cuMemcpyAsync(to, (CUdeviceptr)(uintptr_t)args[1], node->bytes, stream);
  case WEIR__GRAPH_FILL:
    memcpy(&pattern, args[1], sizeof pattern);
    return device->driver->cuMemsetD32Async(to, pattern, node->bytes / sizeof pattern, stream);
  case WEIR__GRAPH_CALL:
    break;
  }
  const weir__cuda_kernel *kernel = weir__cuda_code_of(node->kernel);
  if (kernel->adopted != 0) return weir__cuda_adopted_launch(node->user, stream);
  for (uint32_t i = 0; i < kernel->count && result == CUDA_SUCCESS; i++)
    result = weir__cuda_launch_one(device, &kernel->launches[i], node->groups, parameters, stream);
  return result;
}

static CUresult mark(weir__cuda_device *device, const weir__cuda_plan *plan, uint32_t index, CUstream stream) {
  return plan->marks == NULL ? CUDA_SUCCESS : device->driver->cuEventRecord(plan->marks[index], stream);
}

// Nodes of a segment one by one: those that read poison are skipped, and those that read what they should have written. Enqueue
// functions are in the lane of the queue, or, with `own_lanes`, in those that they have in the graph.
static CUresult launch_nodes_of(weir__cuda_device *device, weir__graph_run *run, weir__cuda_plan *plan,
                                weir__cuda_segment *segment, uint32_t queue, bool own_lanes) {
  CUresult result = CUDA_SUCCESS;
  plan->by_nodes = segment->by_nodes = true;
  for (uint32_t k = segment->first; k < segment->first + segment->count && result == CUDA_SUCCESS; k++) {
    uint32_t i = weir__cuda_segments_node(&plan->segments, k);
    const weir__graph_node *node = &run->plan->nodes[i];
    CUstream stream = device->streams[queue].stream; // an enqueue function may have destroyed the one before
    bool has_lane = own_lanes && plan->calls[k].enqueue != NULL;
    if (!weir__graph_run_admits(run, i)) continue;
    result = mark(device, plan, 2 * i, stream);
    if (result == CUDA_SUCCESS && weir__cuda_node_calls(node))
      weir__cuda_call_node(device, run, i, queue, has_lane ? plan->calls[k].lane : queue);
    else if (result == CUDA_SUCCESS)
      result = launch_node(device, run, node, plan->parameters + node->first_arg, stream);
    if (result == CUDA_SUCCESS) result = mark(device, plan, 2 * i + 1, device->streams[queue].stream);
  }
  return result;
}

static CUresult launch_nodes(weir__cuda_device *device, weir__graph_run *run, weir__cuda_plan *plan, uint32_t queue,
                             bool own_lanes) {
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < plan->segments.count && result == CUDA_SUCCESS; i++)
    result = launch_nodes_of(device, run, plan, &plan->segments.list[i], queue, own_lanes);
  return result;
}

// Segments one after another in the queue's stream. When a function has failed, some of what comes after it must be skipped.
static CUresult launch_segments(weir__cuda_device *device, weir__graph_run *run, weir__cuda_plan *plan,
                                uint32_t queue) {
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < plan->segments.count && result == CUDA_SUCCESS; i++) {
    weir__cuda_segment *segment = &plan->segments.list[i];
    segment->by_nodes = false;
    if (segment->apart || weir__graph_run_skips(run))
      result = launch_nodes_of(device, run, plan, segment, queue, false);
    else
      result = device->driver->cuGraphLaunch(segment->exec->exec, device->streams[queue].stream);
  }
  return result;
}

// Always the same one, as long as that is idle, since the driver and the card do so sooner than from one queue to the next.
static uint32_t find_queue(weir__cuda_device *device, const weir__task *task) {
  if (task->run->queue != WEIR__ANY_QUEUE || device->queue_count == 1) return task->run->queue;
  uint32_t ordinary = device->queue_count - 2, homes = ordinary < MOST_HOMES ? ordinary : MOST_HOMES;
  weir__cuda_plan *plan = task->run->plan->device_data;
  if (plan->home == 0) plan->home = device->homes++ % homes + 1;
  return device->base.in_flight[plan->home - 1].first == NULL ? plan->home - 1 : WEIR__ANY_QUEUE;
}

// Whether some function has not been called in its lane yet. At its first call it may set up what a capture would not let it: then
// the nodes go one by one, once.
static bool is_new(const weir__cuda_device *device, weir__cuda_plan *plan) {
  for (uint32_t i = 0; !plan->knows_lanes && i < plan->order.task_count; i++) {
    const weir__cuda_call_step *call = &plan->calls[i];
    if (call->enqueue != NULL && !weir__enqueue_was_called(call->enqueue, &device->base.device, call->lane))
      return true;
  }
  plan->knows_lanes = true;
  return false;
}

// A launch that uses the graph's lanes. `*out_begun`: something may have been launched.
static CUresult launch_in_lanes(weir__cuda_device *device, weir__graph_run *run, weir__cuda_plan *plan, uint32_t queue,
                                bool *out_begun) {
  bool new_lanes = is_new(device, plan);
  CUresult result = new_lanes ? CUDA_SUCCESS : weir__cuda_plan_set(device, run, plan);
  if (result == CUDA_SUCCESS) result = weir__cuda_begin_set(device, plan->set, device->streams[queue].stream);
  if (result != CUDA_SUCCESS) return result;
  *out_begun = true;
  result = new_lanes ? launch_nodes(device, run, plan, queue, true) : launch_segments(device, run, plan, queue);
  CUresult end = weir__cuda_end_set(device, plan->set, device->streams[queue].stream);
  return result != CUDA_SUCCESS ? result : end;
}

// Copies between some memories the driver takes each by itself, but not in a graph; and some functions cannot be captured.
static bool may_go_by_nodes(const weir__cuda_plan *plan, CUresult result) {
  return (plan->bytes != NULL || plan->call_count > 0) && !weir__cuda_is_sticky(result);
}

static CUresult launch_exec(weir__cuda_device *device, weir__graph_run *run, weir__cuda_plan *plan, uint32_t queue) {
  CUresult result;
  do {
    bool begun = false;
    if (plan->call_count > 0) {
      result = launch_in_lanes(device, run, plan, queue, &begun);
      if (result == CUDA_SUCCESS || begun) return result;
    } else {
      result = weir__cuda_plan_set(device, run, plan);
      if (result == CUDA_SUCCESS) return launch_segments(device, run, plan, queue);
    }
    weir__cuda_binding_forget(&plan->binding);
    if (!may_go_by_nodes(plan, result)) return result;
  } while (weir__cuda_plan_part(device, run->plan, plan, result) &&
           make_marks(device, run->plan, plan) == CUDA_SUCCESS);
  plan->one_by_one = true;
  return launch_nodes(device, run, plan, queue, false);
}

// Adds what has come of launches to what the graph says of itself. The lock is held.
static void give_counts(weir__graph_run *run, weir__cuda_plan *plan) {
  weir__graph_counts *all = run->plan->counts;
  all->captured += plan->counts.captured;
  all->updated += plan->counts.updated;
  all->made += plan->counts.made;
  all->called += plan->by_nodes;
  all->reason[0] = '\0';
  if (plan->one_by_one)
    snprintf(all->reason, sizeof all->reason, "%.*s", (int)sizeof all->reason - 1, plan->why);
  else if (plan->apart_count > 0)
    snprintf(all->reason, sizeof all->reason, "%.*s; %u of %u functions go to queues", MOST_WHY, plan->why,
             plan->apart_count, plan->call_count);
  plan->counts = (weir__graph_counts){0};
}

// Its nodes go one by one where some of them must be skipped; which ones, it finds here.
static CUresult launch_run(weir__cuda_device *device, weir__cuda_op *op, CUstream stream) {
  (void)stream;
  weir__host *host = device->base.device.host;
  weir__graph_run *run = op->head.task->run;
  weir__cuda_plan *plan = run->plan->device_data;
  uint32_t queue = op->head.place->queue;
  weir__host_lock(host);
  weir__graph_run_start(run);
  weir__host_unlock(host);
  bind_parameters(run, plan);
  plan->by_nodes = false;
  CUresult result = plan->one_by_one || weir__graph_run_skips(run) ? launch_nodes(device, run, plan, queue, false)
                                                                   : launch_exec(device, run, plan, queue);
  if (plan->call_count == 0 && run->plan->source == NULL) return result;
  weir__host_lock(host);
  give_counts(run, plan);
  weir__host_unlock(host);
  return result;
}

// The caller's memory, and the times of its nodes.
static void finish(weir__cuda_device *device, const weir__cuda_op *op) {
  weir__graph_run *run = op->head.task->run;
  const weir__cuda_plan *plan = run->plan->device_data;
  run->stage_out(run);
  for (uint32_t i = 0; run->timed && i < run->plan->node_count; i++) {
    if (atomic_load_explicit(&run->states[i], memory_order_relaxed) != WEIR__NODE_OK) continue;
    run->start_ns[i] = weir__cuda_event_ns(device, plan->marks[2 * i]);
    run->end_ns[i] = weir__cuda_event_ns(device, plan->marks[2 * i + 1]);
  }
}

// The times of the node at a place of a segment, or those of all where it has none of its own.
static weir__trace_span span_of(weir__cuda_device *device, const weir__cuda_plan *plan,
                                const weir__cuda_segment *segment, uint32_t place, const weir__completion *completion) {
  uint32_t node = weir__cuda_segments_node(&plan->segments, place);
  weir__trace_span span = {
      .node = node + 1, .lane = completion->lane, .start_ns = completion->start_ns, .end_ns = completion->end_ns};
  const CUevent *marks = segment->by_nodes ? plan->marks : segment->exec->marks;
  if (marks == NULL) return span;
  marks += 2 * (size_t)(segment->by_nodes ? node : place - segment->first);
  weir__cuda_mark_times(device, marks, completion->start_ns, &span.start_ns, &span.end_ns, &span.lane);
  return span;
}

// Adds the times of a run's nodes to the timeline.
static void trace_run(weir__cuda_device *device, const weir__task *task, const weir__completion *completion) {
  const weir__cuda_plan *plan = task->run->plan->device_data;
  for (uint32_t i = 0; i < plan->segments.count; i++) {
    const weir__cuda_segment *segment = &plan->segments.list[i];
    for (uint32_t k = segment->first; k < segment->first + segment->count; k++) {
      uint32_t node = weir__cuda_segments_node(&plan->segments, k);
      if (atomic_load_explicit(&task->run->states[node], memory_order_relaxed) != WEIR__NODE_OK) continue;
      weir__trace_span span = span_of(device, plan, segment, k, completion);
      snprintf(span.name, sizeof span.name, "%s", weir__graph_node_name(&task->run->plan->nodes[node]));
      weir__trace_add_span(device->base.device.host->trace, task->id, &span);
    }
  }
}

static void report(weir__cuda_device *device, weir__cuda_op *op, const weir__completion *completion) {
  if (op->head.status == WEIR_OK && device->base.device.host->trace != NULL)
    trace_run(device, op->head.task, completion);
}

static bool may_fail(const weir__task *task) {
  return ((const weir__cuda_plan *)task->run->plan->device_data)->call_count > 0;
}

const weir__cuda_run_ops weir__cuda_recorded_ops = {
    .head = {.launch = launch_run, .finish = finish, .report = report}, .queue = find_queue, .may_fail = may_fail};
