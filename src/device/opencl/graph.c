// SPDX-License-Identifier: Apache-2.0
//
// Launches of graphs: their nodes in all queues, with events where queues meet; or one after another in one queue, where the
// caller chose it, or wants to know their times. Nodes that read poison are skipped, and those that read what they should have
// written.
#include "device/graph.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "device/opencl/enqueue.h"
#include "device/opencl/opencl.h"

// A node whose code is an enqueue function. If that fails, so does the node, with what it enqueued.
static cl_int call_node(weir__opencl_device *device, weir__graph_run *run, uint32_t index, uint32_t queue,
                        weir__opencl_waits *waits, weir__opencl_node *out_node) {
  weir__enqueue *enqueue = weir__opencl_code_of(run->plan->nodes[index].kernel)->head.enqueue;
  weir__enqueue_call call;
  if (!weir__enqueue_begin_node(&call, enqueue, &device->base.device, run, index)) return CL_OUT_OF_HOST_MEMORY;
  if (weir__opencl_call(device, &call, enqueue, queue, waits, out_node != NULL ? &out_node->start : NULL) != WEIR_OK)
    weir__graph_run_note_failure(run, index, call.text);
  weir__enqueue_end(&call);
  if (out_node == NULL) return CL_SUCCESS;
  cl_int result = weir__opencl_enqueue_marker(device, queue, waits, &out_node->event);
  if (result == CL_SUCCESS) waits->count = 0;
  return result;
}

// Enqueues a node. `out_node` (NULL: not wanted) gets its events.
static cl_int launch_node(weir__opencl_device *device, weir__graph_run *run, uint32_t index, uint32_t queue_index,
                          weir__opencl_waits *waits, weir__opencl_node *out_node) {
  const weir__graph_node *node = &run->plan->nodes[index];
  cl_command_queue queue = device->queues[queue_index].queue;
  cl_event *out_event = out_node != NULL ? &out_node->event : NULL;
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
  if (weir__opencl_code_of(node->kernel)->head.enqueue != NULL)
    return call_node(device, run, index, queue_index, waits, out_node);
  weir__opencl_argument arguments[WEIR_MAX_ARGS];
  for (uint32_t i = 0; i < node->arg_count; i++) {
    const weir__graph_arg *arg = &run->plan->args[node->first_arg + i];
    arguments[i] = (weir__opencl_argument){.value = args[i]};
    *(arg->mode == WEIR_VALUE ? &arguments[i].bytes : &arguments[i].range) = arg->bytes;
  }
  return weir__opencl_enqueue_kernel(device, weir__opencl_code_of(node->kernel), node->groups, arguments,
                                     node->arg_count, queue, waits, out_event);
}

// Where queues keep no times, the host takes them: nothing else happens while a node runs.
static cl_int time_node(weir__opencl_device *device, weir__graph_run *run, uint32_t index, uint32_t queue,
                        weir__opencl_waits *waits) {
  const weir__opencl_driver *driver = device->driver;
  weir__opencl_node node = {.event = NULL};
  cl_int result = CL_SUCCESS;
  weir__opencl_flush(device);
  if (waits->count > 0) result = driver->clWaitForEvents(waits->count, waits->events);
  if (result == CL_SUCCESS) waits->count = 0;
  if (result == CL_SUCCESS) result = driver->clFinish(device->queues[queue].queue);
  run->start_ns[index] = device->base.device.ops->time(&device->base.device);
  if (result == CL_SUCCESS) result = launch_node(device, run, index, queue, waits, &node);
  if (node.start != NULL) driver->clReleaseEvent(node.start);
  if (result != CL_SUCCESS) return result;
  result = driver->clWaitForEvents(1, &node.event);
  if (result != CL_SUCCESS) weir__opencl_trouble(device, result);
  run->end_ns[index] = device->base.device.ops->time(&device->base.device);
  driver->clReleaseEvent(node.event);
  return CL_SUCCESS;
}

// One node after another in the launch's own queue.
static cl_int launch_in_turn(weir__opencl_device *device, weir__opencl_operation *operation,
                             weir__opencl_waits *waits) {
  weir__graph_run *run = operation->head.task->run;
  uint32_t queue = operation->head.place->queue;
  cl_int result = CL_SUCCESS;
  for (uint32_t i = 0; i < run->plan->node_count && result == CL_SUCCESS; i++) {
    weir__opencl_node *node = operation->nodes != NULL ? &operation->nodes[i] : NULL;
    if (node != NULL) node->queue = queue;
    if (!weir__graph_run_admits(run, i)) continue;
    if (run->timed && device->base.device.host->trace == NULL)
      result = time_node(device, run, i, queue, waits);
    else
      result = launch_node(device, run, i, queue, waits, node);
  }
  return result;
}

// A launch whose nodes are in several queues.
typedef struct spread {
  weir__opencl_device *device;
  weir__opencl_operation *operation;
  cl_event start;                          // of what comes before all nodes; NULL: the first node does
  uint32_t last[WEIR__OPENCL_MOST_QUEUES]; // node that was put last into each queue, plus 1; 0: none
  uint32_t next_queue;
} spread;

// A predecessor's queue, if that is the last in it; else the next one.
static uint32_t choose_queue(spread *s, const weir__graph_plan *plan, uint32_t index) {
  const weir__graph_node *node = &plan->nodes[index];
  if (index == 0) return s->operation->head.place->queue;
  for (uint32_t i = 0; i < node->predecessor_count; i++) {
    uint32_t before = plan->predecessors[node->first_predecessor + i], queue = s->operation->nodes[before].queue;
    if (s->last[queue] == before + 1) return queue;
  }
  s->next_queue = (s->next_queue + 1) % s->device->own_queues;
  return s->next_queue;
}

// The last nodes in other queues, of those that are marked by queue, are waited for.
static void add_waits(spread *s, const uint32_t *nodes, uint32_t own_queue, weir__opencl_waits *waits) {
  for (uint32_t queue = 0; queue < s->device->own_queues; queue++) {
    if (queue == own_queue || nodes[queue] == 0) continue;
    weir__opencl_flush_queue(s->device, queue);
    waits->events[waits->count++] = s->operation->nodes[nodes[queue] - 1].event;
  }
}

static void find_waits(spread *s, const weir__graph_plan *plan, uint32_t index, uint32_t queue,
                       weir__opencl_waits *out_waits) {
  const weir__graph_node *node = &plan->nodes[index];
  uint32_t newest[WEIR__OPENCL_MOST_QUEUES] = {0};
  out_waits->count = 0;
  for (uint32_t i = 0; i < node->predecessor_count; i++) {
    uint32_t before = plan->predecessors[node->first_predecessor + i], its_queue = s->operation->nodes[before].queue;
    if (newest[its_queue] < before + 1) newest[its_queue] = before + 1;
  }
  add_waits(s, newest, queue, out_waits);
  if (node->predecessor_count == 0 && queue != s->operation->head.place->queue && s->start != NULL)
    out_waits->events[out_waits->count++] = s->start;
}

// Where there are several roots, a marker comes before all: those in other queues wait for it.
static cl_int mark_start(spread *s, const weir__graph_plan *plan, weir__opencl_waits *waits) {
  uint32_t roots = 0;
  for (uint32_t i = 0; i < plan->node_count; i++) roots += plan->nodes[i].predecessor_count == 0;
  if (roots < 2) return CL_SUCCESS;
  uint32_t queue = s->operation->head.place->queue;
  cl_int result = weir__opencl_enqueue_marker(s->device, queue, waits, &s->start);
  if (result != CL_SUCCESS) return result;
  waits->count = 0;
  s->device->queues[queue].unflushed = true;
  weir__opencl_flush_queue(s->device, queue);
  return CL_SUCCESS;
}

// A node that was refused may have commands in its queue: what follows the launch, in its own queue, comes after them.
static void end_refused(spread *s, uint32_t index) {
  weir__opencl_node *node = &s->operation->nodes[index];
  const weir__opencl_waits none = {.count = 0};
  if (node->queue == s->operation->head.place->queue) return;
  s->device->queues[node->queue].unflushed = true;
  if (weir__opencl_enqueue_marker(s->device, node->queue, &none, &node->event) == CL_SUCCESS) {
    s->last[node->queue] = index + 1;
    return;
  }
  node->event = NULL;
  weir__opencl_finish_queue(s->device, node->queue);
}

static cl_int put_node(spread *s, weir__graph_run *run, uint32_t index, weir__opencl_waits *first_waits) {
  weir__opencl_node *node = &s->operation->nodes[index];
  weir__opencl_waits own, *waits = index == 0 && s->start == NULL ? first_waits : &own;
  cl_int result;
  node->queue = choose_queue(s, run->plan, index);
  if (waits == &own) find_waits(s, run->plan, index, node->queue, waits);
  weir__opencl_queue *queue = &s->device->queues[node->queue];
  if (!weir__graph_run_admits(run, index)) { // what comes after it comes after those before it
    result = weir__opencl_enqueue_marker(s->device, node->queue, waits, &node->event);
    if (result == CL_SUCCESS) waits->count = 0;
  } else {
    result = launch_node(s->device, run, index, node->queue, waits, node);
  }
  if (result != CL_SUCCESS) {
    end_refused(s, index);
    return result;
  }
  queue->unflushed = true;
  s->last[node->queue] = index + 1;
  return CL_SUCCESS;
}

// Nodes go to all queues.
static cl_int launch_spread(weir__opencl_device *device, weir__opencl_operation *operation, weir__opencl_waits *waits) {
  weir__graph_run *run = operation->head.task->run;
  spread s = {.device = device, .operation = operation, .next_queue = operation->head.place->queue};
  cl_int result = mark_start(&s, run->plan, waits);
  for (uint32_t i = 0; i < run->plan->node_count && result == CL_SUCCESS; i++) result = put_node(&s, run, i, waits);
  add_waits(&s, s.last, operation->head.place->queue, waits); // for the marker that follows
  if (s.start != NULL) device->driver->clReleaseEvent(s.start);
  return result;
}

// For weir_graph_get_calls. The lock is held.
static void count_calls(const weir__graph_plan *plan) {
  for (uint32_t i = 0; i < plan->node_count; i++) {
    if (plan->nodes[i].kernel == NULL || weir__opencl_code_of(plan->nodes[i].kernel)->head.enqueue == NULL) continue;
    plan->counts->called++;
    snprintf(plan->counts->reason, sizeof plan->counts->reason, "graphs go node by node on OpenCL devices");
    return;
  }
}

cl_int weir__opencl_launch_run(weir__opencl_device *device, weir__opencl_operation *operation,
                               weir__opencl_waits *waits) {
  weir__graph_run *run = operation->head.task->run;
  bool traces = device->base.device.host->trace != NULL;
  weir__host_lock(device->base.device.host);
  weir__graph_run_start(run);
  count_calls(run->plan);
  weir__host_unlock(device->base.device.host);
  bool spreads = device->own_queues > 1 && run->queue == WEIR__GRAPH_ANY_QUEUE && !run->timed;
  if (spreads || traces) operation->nodes = weir__allocate_zeroed(run->plan->node_count * sizeof *operation->nodes);
  return spreads && operation->nodes != NULL ? launch_spread(device, operation, waits)
                                             : launch_in_turn(device, operation, waits);
}

void weir__opencl_finish_run(weir__opencl_device *device, weir__opencl_operation *operation) {
  weir__graph_run *run = operation->head.task->run;
  run->stage_out(run);
  for (uint32_t i = 0; run->timed && operation->nodes != NULL && i < run->plan->node_count; i++) {
    const weir__opencl_node *node = &operation->nodes[i];
    if (node->event != NULL)
      weir__opencl_event_times(device, node->start, node->event, &run->start_ns[i], &run->end_ns[i]);
  }
}

void weir__opencl_release_nodes(weir__opencl_device *device, weir__opencl_operation *operation) {
  if (operation->nodes == NULL) return;
  for (uint32_t i = 0; i < operation->head.task->run->plan->node_count; i++) {
    if (operation->nodes[i].event != NULL) device->driver->clReleaseEvent(operation->nodes[i].event);
    if (operation->nodes[i].start != NULL) device->driver->clReleaseEvent(operation->nodes[i].start);
  }
  weir__free(operation->nodes);
  operation->nodes = NULL;
}

static uint64_t within(uint64_t value, uint64_t least, uint64_t most) {
  return value < least ? least : value > most ? most : value;
}

void weir__opencl_trace_run(weir__opencl_device *device, const weir__opencl_operation *operation) {
  const weir__graph_run *run = operation->head.task->run;
  for (uint32_t i = 0; i < run->plan->node_count; i++) {
    if (atomic_load_explicit(&run->states[i], memory_order_relaxed) != WEIR__NODE_OK) continue;
    weir__trace_span span = {.node = i + 1,
                             .lane = operation->head.place->queue,
                             .start_ns = operation->start_ns,
                             .end_ns = operation->end_ns};
    if (operation->nodes != NULL) span.lane = operation->nodes[i].queue;
    if (operation->nodes != NULL && operation->nodes[i].event != NULL) {
      weir__opencl_event_times(device, operation->nodes[i].start, operation->nodes[i].event, &span.start_ns,
                               &span.end_ns);
      span.start_ns = within(span.start_ns, operation->start_ns, operation->end_ns); // so nodes keep their order
      span.end_ns = within(span.end_ns, span.start_ns, operation->end_ns);
    }
    snprintf(span.name, sizeof span.name, "%s", weir__graph_node_name(&run->plan->nodes[i]));
    weir__trace_add_span(device->base.device.host->trace, operation->head.task->id, &span);
  }
}
