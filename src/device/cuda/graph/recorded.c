// SPDX-License-Identifier: Apache-2.0
//
// Recorded graphs on a CUDA device: one executable graph for each plan, set anew where a launch differs from the one before.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/cuda/graph/binding.h"
#include "device/cuda/graph/exec.h"
#include "device/cuda/queue/call.h"
#include "device/cuda/queue/launch.h"
#include "plan/reduction.h"

// What the device makes of a plan.
typedef struct cuda_plan {
  weir__cuda_exec *exec;     // NULL: not made yet, or one_by_one
  weir__cuda_exec *outgrown; // the one before, whose launches may be in flight; NULL: none
  bool
      one_by_one; // nodes are launched each by itself, in order: what is to be timed, what the driver has refused, enqueue
                  // functions
  bool calls;     // some node is an enqueue function, which may fail
  CUevent *marks;         // two per node: its start and its end; NULL: they are not wanted, or are those of `exec`
  weir__plan_graph order; // the fewest edges
  weir__cuda_step *steps;
  weir__cuda_bytes *bytes;    // per node; NULL: no node copies or fills
  void **parameters;          // per argument of the plan; set for each launch
  void *nowhere;              // in place of a pointer that is not known yet
  weir__cuda_binding binding; // what `exec` has
  void *const *bound_args;    // what `parameters` point to; NULL: nothing yet
  const unsigned char *bound_values;
  uint32_t mark_count;
  uint32_t home; // the queue where it is launched, counted from 1; 0: it has none yet
} cuda_plan;

enum {
  MOST_HOMES = 8, // as many streams run side by side unless the driver is told otherwise
  MOST_REDUCED = 1 << 16
};

static void destroy_plan(weir__cuda_device *device, cuda_plan *plan) {
  bool entered = weir__cuda_enter(device) == CUDA_SUCCESS;
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

static bool make_steps(const weir__graph_plan *plan, bool has_bytes, cuda_plan *made) {
  made->steps = weir__allocate_zeroed(plan->node_count * sizeof *made->steps);
  if (made->steps == NULL) return false;
  if (has_bytes) made->bytes = weir__allocate_zeroed(plan->node_count * sizeof *made->bytes);
  if (has_bytes && made->bytes == NULL) return false;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    const weir__graph_node *node = &plan->nodes[i];
    bool is_bytes = node->kind != WEIR__GRAPH_CALL;
    if (is_bytes) made->bytes[i] = (weir__cuda_bytes){.fill = node->kind == WEIR__GRAPH_FILL, .count = node->bytes};
    made->steps[i] = (weir__cuda_step){
        .kernel = is_bytes ? NULL : weir__cuda_code_of(node->kernel),
        .bytes = is_bytes ? &made->bytes[i] : NULL,
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

// Whether the node is an enqueue function.
static bool is_call(const weir__graph_node *node) {
  return node->kernel != NULL && weir__cuda_code_of(node->kernel)->head.enqueue != NULL;
}

static bool has_calls(const weir__graph_plan *plan) {
  for (uint32_t i = 0; i < plan->node_count; i++) {
    if (is_call(&plan->nodes[i])) return true;
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

// What is launched: an executable graph, or its nodes one by one. A copy or fill can only be made where it is known which memory
// it is about: then the first launch makes the graph. The device's context is current.
static CUresult make_launches(weir__cuda_device *device, const weir__graph_plan *plan, cuda_plan *made) {
  bool traces = device->base.device.host->trace != NULL, with_bytes = has_bytes(plan);
  made->calls = has_calls(plan);
  made->one_by_one = plan->timed || (traces && with_bytes) || made->calls;
  if (made->one_by_one && (plan->timed || traces)) return make_marks(device, plan->node_count, made);
  if (made->one_by_one) return CUDA_SUCCESS;
  if (!make_steps(plan, with_bytes, made)) return CUDA_ERROR_OUT_OF_MEMORY;
  return with_bytes ? CUDA_SUCCESS
                    : weir__cuda_exec_create(device, made->steps, plan->node_count, traces ? WEIR__CUDA_EXEC_MARKS : 0,
                                             &made->exec);
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
  CUdeviceptr to = (CUdeviceptr)(uintptr_t)args[0];
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
  for (uint32_t i = 0; i < kernel->count && result == CUDA_SUCCESS; i++)
    result = weir__cuda_launch_one(device, &kernel->launches[i], node->groups, parameters, stream);
  return result;
}

static CUresult mark(weir__cuda_device *device, const cuda_plan *plan, uint32_t index, CUstream stream) {
  return plan->marks == NULL ? CUDA_SUCCESS : device->driver->cuEventRecord(plan->marks[index], stream);
}

// Nodes that read poison are skipped, and those that read what they should have written; the others are launched.
static CUresult launch_nodes(weir__cuda_device *device, weir__graph_run *run, const cuda_plan *plan, uint32_t queue) {
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < run->plan->node_count && result == CUDA_SUCCESS; i++) {
    const weir__graph_node *node = &run->plan->nodes[i];
    CUstream stream = device->streams[queue].stream; // an enqueue function may have destroyed the one before
    if (!weir__graph_run_admits(run, i)) continue;
    result = mark(device, plan, 2 * i, stream);
    if (result == CUDA_SUCCESS && is_call(node))
      weir__cuda_call_node(device, run, i, queue);
    else if (result == CUDA_SUCCESS)
      result = launch_node(device, run, node, plan->parameters + node->first_arg, stream);
    if (result == CUDA_SUCCESS) result = mark(device, plan, 2 * i + 1, device->streams[queue].stream);
  }
  return result;
}

// Makes the executable graph, if there is none yet, or sets in it what has changed.
static CUresult set_exec(weir__cuda_device *device, const weir__graph_run *run, cuda_plan *made) {
  uint32_t flags = WEIR__CUDA_EXEC_MOVES, set;
  const bool *changed = made->binding.known ? made->binding.changed : NULL;
  uint32_t change_count = weir__cuda_binding_take(&made->binding, run);
  if (made->exec != NULL) {
    if (change_count == 0) return CUDA_SUCCESS;
    CUresult result = weir__cuda_exec_set(device, made->exec, made->steps, changed, &set);
    if (!made->exec->outgrown) return result;
    made->outgrown = made->exec;
    flags = 0;
  }
  return weir__cuda_exec_create(device, made->steps, run->plan->node_count, flags, &made->exec);
}

// Always the same one, as long as that is idle, since the driver and the card do so sooner than from one queue to the next.
static uint32_t find_queue(weir__cuda_device *device, const weir__task *task) {
  if (task->run->queue != WEIR__ANY_QUEUE || device->queue_count == 1) return task->run->queue;
  uint32_t ordinary = device->queue_count - 2, homes = ordinary < MOST_HOMES ? ordinary : MOST_HOMES;
  cuda_plan *plan = task->run->plan->device_data;
  if (plan->home == 0) plan->home = device->homes++ % homes + 1;
  return device->base.in_flight[plan->home - 1].first == NULL ? plan->home - 1 : WEIR__ANY_QUEUE;
}

// Its nodes go one by one where some of them must be skipped; which ones, it finds here.
static CUresult launch_run(weir__cuda_device *device, weir__cuda_op *op, CUstream stream) {
  weir__graph_run *run = op->head.task->run;
  cuda_plan *plan = run->plan->device_data;
  weir__host_lock(device->base.device.host);
  weir__graph_run_start(run);
  weir__host_unlock(device->base.device.host);
  bind_parameters(run, plan);
  if (plan->one_by_one || weir__graph_run_skips(run)) return launch_nodes(device, run, plan, op->head.place->queue);
  CUresult result = set_exec(device, run, plan);
  if (result == CUDA_SUCCESS) return device->driver->cuGraphLaunch(plan->exec->exec, stream);
  weir__cuda_binding_forget(&plan->binding);
  // Copies between some memories the driver takes each by itself, but not in a graph.
  if (plan->bytes == NULL || weir__cuda_is_sticky(result)) return result;
  plan->one_by_one = true;
  return launch_nodes(device, run, plan, op->head.place->queue);
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
  bool one_by_one = atomic_load_explicit(&task->run->failed_count, memory_order_relaxed) > 0;
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
  return ((const cuda_plan *)task->run->plan->device_data)->calls;
}

const weir__cuda_run_ops weir__cuda_recorded_ops = {
    .head = {.launch = launch_run, .finish = finish, .report = report}, .queue = find_queue, .may_fail = may_fail};
