// SPDX-License-Identifier: Apache-2.0
//
// When the nodes of a launch ran: for the caller, for timelines, and for choosing levels.
#include <stdio.h>

#include "device/graph.h"
#include "device/vulkan/graph_recording.h"

// A step's timestamps. False: there are none.
static bool read_step_times(weir__vulkan_device *device, const weir__vulkan_recording *item, uint32_t step,
                            uint64_t *out_start_ns, uint64_t *out_end_ns) {
  uint64_t ticks[2];
  if (item == NULL || item->queries == VK_NULL_HANDLE ||
      device->calls.vkGetQueryPoolResults(device->device, item->queries, 2 * step, 2, sizeof ticks, ticks,
                                          sizeof ticks[0], VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
    return false;
  *out_start_ns = weir__vulkan_ticks_ns(device, ticks[0]);
  *out_end_ns = weir__vulkan_ticks_ns(device, ticks[1]);
  return true;
}

// Goes through the steps in their order. A start is noted as soon as the command is read; the step itself starts when the
// levels before it are done.
typedef struct step_times {
  uint32_t at;
  uint64_t floor, last_end;
} step_times;

static bool next_times(weir__vulkan_device *device, const weir__vulkan_op *op, step_times *times, uint32_t *out_step,
                       uint64_t *out_start_ns, uint64_t *out_end_ns) {
  const weir__vulkan_plan *plan = op->head.task->run->plan->device_data;
  const weir__vulkan_graph_steps *steps = &plan->steps;
  uint32_t i = times->at++, step = steps->order[i];
  if (i > 0 && (op->recording->step_by_step || steps->levels[step] != steps->levels[steps->order[i - 1]]))
    times->floor = times->last_end;
  *out_step = step;
  if (!read_step_times(device, op->recording, step, out_start_ns, out_end_ns)) return false;
  if (*out_start_ns < times->floor) *out_start_ns = times->floor;
  if (*out_end_ns < *out_start_ns) *out_end_ns = *out_start_ns;
  if (*out_end_ns > times->last_end) times->last_end = *out_end_ns;
  return true;
}

// Whether the steps' order is still that of the recording.
static bool has_times(const weir__vulkan_op *op) {
  const weir__vulkan_plan *plan = op->head.task->run->plan->device_data;
  return op->recording != NULL && op->recording->queries != VK_NULL_HANDLE &&
         op->recording->version == plan->steps.version;
}

// The times of nodes, for the caller.
static void note_times(weir__vulkan_device *device, const weir__vulkan_op *op) {
  const weir__graph_run *run = op->head.task->run;
  const weir__vulkan_graph_steps *steps = &((const weir__vulkan_plan *)run->plan->device_data)->steps;
  step_times times = {0};
  uint64_t start, end;
  for (uint32_t i = 0, step; i < steps->count && has_times(op); i++) {
    if (!next_times(device, op, &times, &step, &start, &end)) continue;
    uint32_t node = steps->items[step].node;
    if (atomic_load_explicit(&run->states[node], memory_order_relaxed) != WEIR__NODE_OK) continue;
    if (steps->items[step].dispatch == 0) run->start_ns[node] = start;
    run->end_ns[node] = end;
  }
}

// The times of steps, for choosing levels.
static void keep_times(weir__vulkan_device *device, const weir__vulkan_op *op) {
  weir__vulkan_graph_steps *steps = &((weir__vulkan_plan *)op->head.task->run->plan->device_data)->steps;
  step_times times = {0};
  uint64_t start, end;
  for (uint32_t i = 0, step; i < steps->count; i++) {
    if (!next_times(device, op, &times, &step, &start, &end)) return;
    steps->times[step] = (double)(end - start) / 1000;
  }
  steps->timed = true;
}

void weir__vulkan_finish_run(weir__vulkan_device *device, const weir__vulkan_op *op) {
  op->head.task->run->stage_out(op->head.task->run);
  if (op->head.task->run->timed) note_times(device, op);
  if (has_times(op) && op->recording->step_by_step) keep_times(device, op);
}

static void trace_nodes(weir__vulkan_device *device, const weir__vulkan_op *op, weir__completion *completion) {
  weir__trace *trace = device->base.device.host->trace;
  const weir__graph_run *run = op->head.task->run;
  const weir__vulkan_graph_steps *steps = &((const weir__vulkan_plan *)run->plan->device_data)->steps;
  step_times times = {.floor = completion->start_ns, .last_end = completion->start_ns};
  for (uint32_t i = 0, step = 0; i < steps->count; i++) {
    weir__trace_span span = {.lane = completion->lane, .start_ns = completion->start_ns, .end_ns = completion->end_ns};
    if (has_times(op) && next_times(device, op, &times, &step, &span.start_ns, &span.end_ns))
      span.lane = weir__vulkan_row(device, op->head.place->queue, span.start_ns, span.end_ns);
    else
      step = steps->order[i];
    uint32_t node = steps->items[step].node;
    if (atomic_load_explicit(&run->states[node], memory_order_relaxed) != WEIR__NODE_OK) continue;
    span.node = node + 1;
    snprintf(span.name, sizeof span.name, "%s", weir__graph_node_name(&run->plan->nodes[node]));
    weir__trace_add_span(trace, op->head.task->id, &span);
  }
  // Its end was marked before the graph's own commands.
  if (times.last_end > completion->end_ns) completion->end_ns = times.last_end;
  weir__vulkan_lane *lane = &device->lanes[op->head.place->queue];
  if (times.last_end > lane->last_end_ns) lane->last_end_ns = times.last_end;
}

void weir__vulkan_report_run(weir__vulkan_device *device, weir__vulkan_op *op, weir__completion *completion) {
  if (device->base.device.host->trace != NULL && op->head.status == WEIR_OK) trace_nodes(device, op, completion);
  if (op->recording != NULL) op->recording->in_flight = false;
}
