// SPDX-License-Identifier: Apache-2.0
//
// Recorded graphs on a CUDA device: one executable graph for each plan, set anew where a launch differs from the one before.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/cuda/graph/adopted.h"
#include "device/cuda/graph/binding.h"
#include "device/cuda/graph/capture.h"
#include "device/cuda/graph/exec.h"
#include "device/cuda/queue/call.h"
#include "device/cuda/queue/launch.h"
#include "plan/reduction.h"

// What the device makes of a plan.
typedef struct cuda_plan {
  weir__cuda_exec *exec;     // NULL: not made yet, or one_by_one
  weir__cuda_exec *outgrown; // the one before, whose launches may be in flight; NULL: none
  bool
      one_by_one; // nodes are launched each by itself, in order: what is to be timed, what the driver has refused, code
                  // that is not captured
  CUevent *marks; // two per node: its start and its end; NULL: they are not wanted, or are those of `exec`
  weir__plan_graph order; // the fewest edges
  weir__cuda_step *steps;
  weir__cuda_bytes *bytes;    // per node; NULL: no node copies or fills
  void **parameters;          // per argument of the plan; set for each launch
  void *nowhere;              // in place of a pointer that is not known yet
  weir__cuda_binding binding; // what `exec` has
  void *const *bound_args;    // what `parameters` point to; NULL: nothing yet
  const unsigned char *bound_values;
  uint32_t mark_count;
  bool by_nodes;               // the last launch was: its nodes one by one
  weir__cuda_call_step *calls; // per node; NULL: no node is an enqueue function, which may fail
  uint32_t set;                // of lanes, of these
  uint32_t *turns;             // the nodes in the order in which they become part of `exec`; NULL: as they are
  weir__graph_counts counts;   // since they were last added to the graph's
  char why[WEIR__CUDA_WHY_BYTES];
  uint32_t home; // the queue where it is launched, counted from 1; 0: it has none yet
} cuda_plan;

enum {
  MOST_HOMES = 8, // as many streams run side by side unless the driver is told otherwise
  MOST_REDUCED = 1 << 16
};

static void destroy_plan(weir__cuda_device *device, cuda_plan *plan) {
  bool entered = weir__cuda_enter(device) == CUDA_SUCCESS;
  for (uint32_t i = 0; plan->calls != NULL && i < plan->order.task_count; i++)
    weir__cuda_call_free(device, &plan->calls[i], entered);
  if (entered) {
    weir__cuda_exec_destroy(device, plan->exec);
    weir__cuda_exec_destroy(device, plan->outgrown);
    for (uint32_t i = 0; plan->marks != NULL && i < plan->mark_count; i++) {
      if (plan->marks[i] != NULL) device->driver->cuEventDestroy(plan->marks[i]);
    }
    weir__cuda_leave(device);
  }
  weir__free(plan->marks);
  weir__plan_graph_free(&plan->order);
  weir__free(plan->steps);
  weir__free(plan->bytes);
  weir__free(plan->calls);
  weir__free(plan->turns);
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

// Whether the node is an enqueue function.
static bool is_call(const weir__graph_node *node) {
  return node->kernel != NULL && weir__cuda_code_of(node->kernel)->head.enqueue != NULL;
}

// Whether the node is one that was adopted.
static bool is_adopted(const weir__graph_node *node) {
  return node->kernel != NULL && weir__cuda_code_of(node->kernel)->adopted != 0;
}

// The nodes that are enqueue functions. False: no memory.
static bool make_calls(weir__cuda_device *device, const weir__graph_plan *plan, cuda_plan *made) {
  made->calls = weir__allocate_zeroed(plan->node_count * sizeof *made->calls);
  made->turns = weir__allocate(plan->node_count * sizeof *made->turns);
  if (made->calls == NULL || made->turns == NULL) return false;
  bool children = (device->base.device.host->seed >> 5 & 1) != 0; // from the start: a seed, for tests
  for (uint32_t i = 0; i < plan->node_count; i++) {
    if (!is_call(&plan->nodes[i])) continue;
    made->calls[i] = (weir__cuda_call_step){.enqueue = weir__cuda_code_of(plan->nodes[i].kernel)->head.enqueue,
                                            .node = i,
                                            .child = children,
                                            .captured = &made->counts.captured,
                                            .why = made->why};
  }
  return weir__cuda_assign_lanes(device, made->calls, plan->node_count, made->order.first, made->order.predecessors,
                                 made->set = weir__cuda_take_set(device), made->turns);
}

static bool make_steps(const weir__graph_plan *plan, bool has_bytes, cuda_plan *made) {
  made->steps = weir__allocate_zeroed(plan->node_count * sizeof *made->steps);
  if (made->steps == NULL) return false;
  if (has_bytes) made->bytes = weir__allocate_zeroed(plan->node_count * sizeof *made->bytes);
  if (has_bytes && made->bytes == NULL) return false;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    const weir__graph_node *node = &plan->nodes[i];
    bool is_bytes = node->kind != WEIR__GRAPH_CALL, calls = made->calls != NULL && made->calls[i].enqueue != NULL;
    if (is_bytes) made->bytes[i] = (weir__cuda_bytes){.fill = node->kind == WEIR__GRAPH_FILL, .count = node->bytes};
    made->steps[i] = (weir__cuda_step){
        .kernel = is_bytes || calls ? NULL : weir__cuda_code_of(node->kernel),
        .adopted = is_adopted(node) ? node->user : NULL,
        .bytes = is_bytes ? &made->bytes[i] : NULL,
        .call = calls ? &made->calls[i] : NULL,
        .groups = node->groups,
        .parameters = made->parameters + node->first_arg,
        .parameter_count = node->arg_count,
        .predecessors = made->order.predecessors + made->order.first[i],
        .predecessor_count = (uint32_t)(made->order.first[i + 1] - made->order.first[i]),
    };
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

static bool has_calls(const weir__graph_plan *plan) {
  for (uint32_t i = 0; i < plan->node_count; i++) {
    if (is_call(&plan->nodes[i])) return true;
  }
  return false;
}

// Why enqueue functions are not captured, though the plan would be an executable graph otherwise; false: they are.
static bool refuses_capture(const weir__cuda_device *device, const weir__graph_plan *plan, char why[]) {
  if (!weir__cuda_can_capture(device)) {
    snprintf(why, WEIR__CUDA_WHY_BYTES, "the driver does not capture queues");
    return true;
  }
  for (uint32_t i = 0; i < plan->node_count; i++) {
    const weir__graph_node *node = &plan->nodes[i];
    if (!is_call(node)) continue;
    const weir__enqueue *enqueue = weir__cuda_code_of(node->kernel)->head.enqueue;
    if ((enqueue->code.flags & WEIR_ENQUEUE_NO_CAPTURE) == 0) continue;
    snprintf(why, WEIR__CUDA_WHY_BYTES, "node %u '%s': its code must not be captured", i, weir__graph_node_name(node));
    return true;
  }
  return false;
}

static bool has_bytes(const weir__graph_plan *plan) {
  for (uint32_t i = 0; i < plan->node_count; i++) {
    if (plan->nodes[i].kind != WEIR__GRAPH_CALL) return true;
  }
  return false;
}

// Events around each node. The device's context is current.
static CUresult make_marks(weir__cuda_device *device, uint32_t count, cuda_plan *made) {
  made->marks = weir__allocate_zeroed(2 * (size_t)count * sizeof(CUevent));
  if (made->marks == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  made->mark_count = 2 * count;
  CUresult result = weir__cuda_begin_times(device);
  for (uint32_t i = 0; i < made->mark_count && result == CUDA_SUCCESS; i++)
    result = device->driver->cuEventCreate(&made->marks[i], CU_EVENT_DEFAULT);
  return result;
}

// What adopted nodes need to be launched one by one.
static CUresult prepare_adopted(const weir__graph_plan *plan) {
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < plan->node_count && result == CUDA_SUCCESS; i++)
    if (is_adopted(&plan->nodes[i])) result = weir__cuda_adopted_prepare(plan->nodes[i].user);
  return result;
}

// What is launched: an executable graph, or its nodes one by one. A copy or fill can only be made where it is known which memory
// it is about: then the first launch makes the graph. The device's context is current.
static CUresult make_launches(weir__cuda_device *device, const weir__graph_plan *plan, cuda_plan *made) {
  bool traces = device->base.device.host->trace != NULL, with_bytes = has_bytes(plan);
  bool calls = has_calls(plan);
  made->one_by_one = plan->timed || (traces && with_bytes);
  if (calls && made->one_by_one) snprintf(made->why, sizeof made->why, "times of its nodes are wanted");
  if (calls && !made->one_by_one) made->one_by_one = refuses_capture(device, plan, made->why);
  if (calls && !make_calls(device, plan, made)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (made->one_by_one && plan->source != NULL) {
    CUresult result = prepare_adopted(plan);
    if (result != CUDA_SUCCESS) return result;
  }
  if (made->one_by_one && (plan->timed || traces)) return make_marks(device, plan->node_count, made);
  if (made->one_by_one) return CUDA_SUCCESS;
  if (!make_steps(plan, with_bytes, made)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (with_bytes || calls) return CUDA_SUCCESS;
  CUresult result = weir__cuda_exec_create(device, made->steps, NULL, plan->node_count,
                                           traces ? WEIR__CUDA_EXEC_MARKS : 0, &made->exec);
  made->counts.made += result == CUDA_SUCCESS;
  return result;
}

weir_status weir__cuda_graph_build(weir_device *base, weir__graph_plan *plan, uint64_t *out_build_ns) {
  weir__cuda_device *device = weir__cuda_of(base);
  uint64_t start = weir__clock_ns();
  cuda_plan *made = weir__allocate_zeroed(sizeof *made);
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
static void bind_parameters(const weir__graph_run *run, cuda_plan *plan) {
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

static CUresult mark(weir__cuda_device *device, const cuda_plan *plan, uint32_t index, CUstream stream) {
  return plan->marks == NULL ? CUDA_SUCCESS : device->driver->cuEventRecord(plan->marks[index], stream);
}

// Nodes that read poison are skipped, and those that read what they should have written; the others are launched.
// Enqueue functions are in the lane of the queue, or, with `own_lanes`, in those that they have in the graph.
static CUresult launch_nodes(weir__cuda_device *device, weir__graph_run *run, cuda_plan *plan, uint32_t queue,
                             bool own_lanes) {
  CUresult result = CUDA_SUCCESS;
  plan->by_nodes = true;
  for (uint32_t i = 0; i < run->plan->node_count && result == CUDA_SUCCESS; i++) {
    const weir__graph_node *node = &run->plan->nodes[i];
    CUstream stream = device->streams[queue].stream; // an enqueue function may have destroyed the one before
    if (!weir__graph_run_admits(run, i)) continue;
    result = mark(device, plan, 2 * i, stream);
    if (result == CUDA_SUCCESS && is_call(node))
      weir__cuda_call_node(device, run, i, queue, own_lanes ? plan->calls[i].lane : queue);
    else if (result == CUDA_SUCCESS)
      result = launch_node(device, run, node, plan->parameters + node->first_arg, stream);
    if (result == CUDA_SUCCESS) result = mark(device, plan, 2 * i + 1, device->streams[queue].stream);
  }
  return result;
}

// The executable graph gives way to another. Its launches may be in flight; the driver frees it when they are done.
static void outgrow(weir__cuda_device *device, cuda_plan *made) {
  weir__cuda_exec_destroy(device, made->outgrown);
  made->outgrown = made->exec;
  made->exec = NULL;
}

static CUresult make_exec(weir__cuda_device *device, const weir__graph_run *run, cuda_plan *made, uint32_t flags) {
  if (device->base.device.host->trace != NULL) flags = WEIR__CUDA_EXEC_MARKS;
  CUresult result = weir__cuda_exec_create(device, made->steps, made->turns, run->plan->node_count, flags, &made->exec);
  made->counts.made += result == CUDA_SUCCESS;
  return result;
}

// Some call, captured straight into the graph, has other arguments now: in the next graph all calls are children.
static bool must_have_children(const weir__graph_run *run, const cuda_plan *made, const bool *changed) {
  bool any = false;
  for (uint32_t i = 0; made->calls != NULL && i < run->plan->node_count && !any; i++)
    any = made->calls[i].enqueue != NULL && !made->calls[i].child && (changed == NULL || changed[i]);
  for (uint32_t i = 0; any && i < run->plan->node_count; i++) made->calls[i].child = true;
  return any;
}

// Makes the executable graph, if there is none yet, or sets in it what has changed.
static CUresult set_exec(weir__cuda_device *device, weir__graph_run *run, cuda_plan *made) {
  uint32_t flags = WEIR__CUDA_EXEC_MOVES, set;
  const bool *changed = made->binding.known ? made->binding.changed : NULL;
  uint32_t change_count = weir__cuda_binding_take(&made->binding, run);
  if (made->exec == NULL) return make_exec(device, run, made, flags);
  if (change_count == 0) return CUDA_SUCCESS;
  if (!must_have_children(run, made, changed)) {
    CUresult result = weir__cuda_exec_set(device, made->exec, made->steps, changed, &set);
    made->counts.updated += result == CUDA_SUCCESS && (set > 0 || made->calls != NULL);
    if (!made->exec->outgrown && result != CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) return result;
    if (made->exec->outgrown) flags = 0;
  }
  outgrow(device, made);
  return make_exec(device, run, made, flags);
}

// Always the same one, as long as that is idle, since the driver and the card do so sooner than from one queue to the next.
static uint32_t find_queue(weir__cuda_device *device, const weir__task *task) {
  if (task->run->queue != WEIR__ANY_QUEUE || device->queue_count == 1) return task->run->queue;
  uint32_t ordinary = device->queue_count - 2, homes = ordinary < MOST_HOMES ? ordinary : MOST_HOMES;
  cuda_plan *plan = task->run->plan->device_data;
  if (plan->home == 0) plan->home = device->homes++ % homes + 1;
  return device->base.in_flight[plan->home - 1].first == NULL ? plan->home - 1 : WEIR__ANY_QUEUE;
}

// Whether some function has not been called in its lane yet. At its first call it may set up what a capture would not let it: then
// the nodes go one by one, once.
static bool is_new(const weir__cuda_device *device, const weir__graph_run *run, const cuda_plan *plan) {
  for (uint32_t i = 0; i < run->plan->node_count; i++) {
    const weir__cuda_call_step *call = &plan->calls[i];
    if (call->enqueue != NULL && !weir__enqueue_was_called(call->enqueue, &device->base.device, call->lane))
      return true;
  }
  return false;
}

// A launch that uses the graph's lanes. `*out_begun`: something may have been launched.
static CUresult launch_in_lanes(weir__cuda_device *device, weir__graph_run *run, cuda_plan *plan, uint32_t queue,
                                bool *out_begun) {
  for (uint32_t i = 0; i < run->plan->node_count; i++) plan->calls[i].run = run;
  bool new_lanes = is_new(device, run, plan);
  CUresult result = new_lanes ? CUDA_SUCCESS : set_exec(device, run, plan);
  if (result == CUDA_SUCCESS) result = weir__cuda_begin_set(device, plan->set, device->streams[queue].stream);
  if (result != CUDA_SUCCESS) return result;
  *out_begun = true;
  result = new_lanes ? launch_nodes(device, run, plan, queue, true)
                     : device->driver->cuGraphLaunch(plan->exec->exec, device->streams[queue].stream);
  CUresult end = weir__cuda_end_set(device, plan->set, device->streams[queue].stream);
  return result != CUDA_SUCCESS ? result : end;
}

static CUresult launch_exec(weir__cuda_device *device, weir__graph_run *run, cuda_plan *plan, uint32_t queue) {
  bool begun = false;
  CUresult result =
      plan->calls != NULL ? launch_in_lanes(device, run, plan, queue, &begun) : set_exec(device, run, plan);
  if (result == CUDA_SUCCESS && plan->calls == NULL)
    return device->driver->cuGraphLaunch(plan->exec->exec, device->streams[queue].stream);
  if (result == CUDA_SUCCESS || begun) return result;
  weir__cuda_binding_forget(&plan->binding);
  // Copies between some memories the driver takes each by itself, but not in a graph; and some functions cannot be captured.
  if ((plan->bytes == NULL && plan->calls == NULL) || weir__cuda_is_sticky(result)) return result;
  char text[96];
  if (plan->why[0] == '\0')
    snprintf(plan->why, sizeof plan->why, "no executable graph: %s",
             weir__cuda_result_text(device->driver, result, text, sizeof text));
  plan->one_by_one = true;
  return launch_nodes(device, run, plan, queue, false);
}

// Adds what has come of launches to what the graph says of itself. The lock is held.
static void give_counts(weir__graph_run *run, cuda_plan *plan) {
  weir__graph_counts *all = run->plan->counts;
  all->captured += plan->counts.captured;
  all->updated += plan->counts.updated;
  all->made += plan->counts.made;
  all->called += plan->by_nodes;
  snprintf(all->reason, sizeof all->reason, "%s", plan->one_by_one ? plan->why : "");
  plan->counts = (weir__graph_counts){0};
}

// Its nodes go one by one where some of them must be skipped; which ones, it finds here.
static CUresult launch_run(weir__cuda_device *device, weir__cuda_op *op, CUstream stream) {
  (void)stream;
  weir__host *host = device->base.device.host;
  weir__graph_run *run = op->head.task->run;
  cuda_plan *plan = run->plan->device_data;
  uint32_t queue = op->head.place->queue;
  weir__host_lock(host);
  weir__graph_run_start(run);
  weir__host_unlock(host);
  bind_parameters(run, plan);
  plan->by_nodes = false;
  CUresult result = plan->one_by_one || weir__graph_run_skips(run) ? launch_nodes(device, run, plan, queue, false)
                                                                   : launch_exec(device, run, plan, queue);
  if (plan->calls == NULL && run->plan->source == NULL) return result;
  weir__host_lock(host);
  give_counts(run, plan);
  weir__host_unlock(host);
  return result;
}

// The caller's memory, and the times of its nodes.
static void finish(weir__cuda_device *device, const weir__cuda_op *op) {
  weir__graph_run *run = op->head.task->run;
  const cuda_plan *plan = run->plan->device_data;
  run->stage_out(run);
  for (uint32_t i = 0; run->timed && i < run->plan->node_count; i++) {
    if (atomic_load_explicit(&run->states[i], memory_order_relaxed) != WEIR__NODE_OK) continue;
    run->start_ns[i] = weir__cuda_event_ns(device, plan->marks[2 * i]);
    run->end_ns[i] = weir__cuda_event_ns(device, plan->marks[2 * i + 1]);
  }
}

// Adds the times of a run's nodes to the timeline.
static void trace_run(weir__cuda_device *device, const weir__task *task, const weir__completion *completion) {
  const cuda_plan *plan = task->run->plan->device_data;
  bool one_by_one = plan->by_nodes;
  for (uint32_t i = 0; i < task->run->plan->node_count; i++) {
    if (atomic_load_explicit(&task->run->states[i], memory_order_relaxed) != WEIR__NODE_OK) continue;
    weir__trace_span span = {.node = i + 1};
    if (plan->marks != NULL)
      weir__cuda_mark_times(device, plan->marks + 2 * (size_t)i, completion->start_ns, &span.start_ns, &span.end_ns,
                            &span.lane);
    else if (one_by_one)
      span = (weir__trace_span){.node = i + 1, // no times of its own
                                .lane = completion->lane,
                                .start_ns = completion->start_ns,
                                .end_ns = completion->end_ns};
    else
      weir__cuda_mark_times(device, plan->exec->marks + 2 * (size_t)i, completion->start_ns, &span.start_ns,
                            &span.end_ns, &span.lane);
    snprintf(span.name, sizeof span.name, "%s", weir__graph_node_name(&task->run->plan->nodes[i]));
    weir__trace_add_span(device->base.device.host->trace, task->id, &span);
  }
}

static void report(weir__cuda_device *device, weir__cuda_op *op, const weir__completion *completion) {
  if (op->head.status == WEIR_OK && device->base.device.host->trace != NULL)
    trace_run(device, op->head.task, completion);
}

static bool may_fail(const weir__task *task) {
  return ((const cuda_plan *)task->run->plan->device_data)->calls != NULL;
}

const weir__cuda_run_ops weir__cuda_recorded_ops = {
    .head = {.launch = launch_run, .finish = finish, .report = report}, .queue = find_queue, .may_fail = may_fail};
