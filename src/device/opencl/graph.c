// SPDX-License-Identifier: Apache-2.0
//
// Launches of graphs: their nodes one after another in one queue, so that no node needs an event of its own. Nodes that read
// poison are skipped, and those that read what they should have written.
#include "api/graph.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "device/opencl/opencl.h"

static cl_int launch_node(weir__opencl_device *device, const weir__graph_run *run, const weir__graph_node *node,
                          cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event) {
  void *const *args = run->args + node->first_arg;
  uint32_t pattern;
  switch (node->kind) {
  case WEIR__GRAPH_COPY:
    return weir__opencl_enqueue_copy(device, args[0], args[1], node->bytes, queue, waits, out_event);
  case WEIR__GRAPH_FILL:
    memcpy(&pattern, args[1], sizeof pattern);
    return weir__opencl_enqueue_fill(device, args[0], pattern, node->bytes, queue, waits, out_event);
  case WEIR__GRAPH_CALL:
    break;
  }
  weir__opencl_argument arguments[WEIR_MAX_ARGS];
  for (uint32_t i = 0; i < node->arg_count; i++) {
    const weir__graph_arg *arg = &run->plan->args[node->first_arg + i];
    arguments[i] = (weir__opencl_argument){args[i], arg->mode == WEIR_VALUE ? arg->bytes : 0};
  }
  return weir__opencl_enqueue_kernel(device, node->kernel->opencl, node->groups, arguments, node->arg_count, queue,
                                     waits, out_event);
}

// Where queues keep no times, the host takes them: nothing else happens while a node runs.
static cl_int time_node(weir__opencl_device *device, weir__graph_run *run, uint32_t index, cl_command_queue queue,
                        weir__opencl_waits *waits) {
  const weir__opencl_driver *driver = device->driver;
  cl_event event = NULL;
  cl_int result = CL_SUCCESS;
  weir__opencl_flush(device);
  if (waits->count > 0) result = driver->clWaitForEvents(waits->count, waits->events);
  if (result == CL_SUCCESS) result = driver->clFinish(queue);
  waits->count = 0;
  run->start_ns[index] = device->base.ops->time(&device->base);
  if (result == CL_SUCCESS) result = launch_node(device, run, &run->plan->nodes[index], queue, waits, &event);
  if (result != CL_SUCCESS) return result;
  result = driver->clWaitForEvents(1, &event);
  if (result != CL_SUCCESS) device->trouble = result;
  run->end_ns[index] = device->base.ops->time(&device->base);
  driver->clReleaseEvent(event);
  return CL_SUCCESS;
}

cl_int weir__opencl_launch_run(weir__opencl_device *device, weir__opencl_op *op, weir__opencl_waits *waits) {
  weir__graph_run *run = op->task->run;
  cl_command_queue queue = device->queues_in_flight[op->place->queue].queue;
  bool traces = device->base.context->trace != NULL;
  weir__context_lock(device->base.context);
  weir__graph_run_start(run);
  weir__context_unlock(device->base.context);
  if (traces) op->started = weir__allocate_zeroed(run->plan->node_count * sizeof(cl_event));
  for (uint32_t i = 0; i < run->plan->node_count; i++) {
    if (atomic_load_explicit(&run->poisoned[i], memory_order_relaxed)) {
      weir__graph_run_skip(run, i);
      continue;
    }
    cl_event *event = op->started != NULL ? &op->started[i] : NULL;
    cl_int result = run->timed && !traces ? time_node(device, run, i, queue, waits)
                                          : launch_node(device, run, &run->plan->nodes[i], queue, waits, event);
    if (result != CL_SUCCESS) return result;
  }
  return CL_SUCCESS; // a marker follows
}

void weir__opencl_finish_run(weir__opencl_device *device, weir__opencl_op *op) {
  weir__graph_run *run = op->task->run;
  weir__graph_run_stage_out(run);
  for (uint32_t i = 0; run->timed && op->started != NULL && i < run->plan->node_count; i++) {
    if (op->started[i] != NULL) weir__opencl_event_times(device, op->started[i], &run->start_ns[i], &run->end_ns[i]);
  }
}

void weir__opencl_release_started(weir__opencl_device *device, weir__opencl_op *op) {
  if (op->started == NULL) return;
  for (uint32_t i = 0; i < op->task->run->plan->node_count; i++) {
    if (op->started[i] != NULL) device->driver->clReleaseEvent(op->started[i]);
  }
  weir__free(op->started);
  op->started = NULL;
}

void weir__opencl_trace_run(weir__opencl_device *device, const weir__opencl_op *op) {
  const weir__graph_run *run = op->task->run;
  for (uint32_t i = 0; i < run->plan->node_count; i++) {
    if (atomic_load_explicit(&run->states[i], memory_order_relaxed) != WEIR__NODE_OK) continue;
    weir__trace_span span = {.node = i + 1, .lane = op->place->queue, .start_ns = op->start_ns, .end_ns = op->end_ns};
    uint64_t start = 0, end = 0;
    if (op->started != NULL && op->started[i] != NULL) weir__opencl_event_times(device, op->started[i], &start, &end);
    if (start > span.start_ns) span.start_ns = start < op->end_ns ? start : op->end_ns;
    if (end >= span.start_ns && end < span.end_ns && end != 0) span.end_ns = end;
    snprintf(span.name, sizeof span.name, "%s", weir__graph_node_name(&run->plan->nodes[i]));
    weir__trace_add_span(device->base.context->trace, op->task->id, &span);
  }
}
