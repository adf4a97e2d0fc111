// SPDX-License-Identifier: Apache-2.0
#include "vulkan_program.h"

#include <stdio.h>
#include <stdlib.h>

#include "plan/barriers.h"
#include "plan/barriers_check.h"
#include "plan/barriers_cost.h"
#include "plan/barriers_in_order.h"
#include "plan/barriers_queues.h"
#include "plan/paths.h"
#include "vulkan_spin.h"
#include "weir/spin_vulkan.h"

// What the queue planner takes a barrier and a semaphore to cost, microseconds.
#define BARRIER_US 1.7
#define SEMAPHORE_US 10.0

enum { RECORDED_SMS = 132 }; // for the limit, where neither the device nor the stream says

void vulkan_program_read(const char *path, bool quick, vulkan_program *out_program) {
  *out_program = (vulkan_program){0};
  gpu_program *recorded = &out_program->recorded;
  gpu_program_read(path, card.sms > 0 ? card.sms : RECORDED_SMS, recorded);
  out_program->dispatches = gpu_memory(recorded->count, sizeof *out_program->dispatches);
  out_program->times = gpu_memory(recorded->count, sizeof *out_program->times);
  out_program->works = gpu_memory(recorded->count, sizeof *out_program->works);
  const weir__spin_vulkan_limits limits = {card.properties.limits.maxComputeSharedMemorySize,
                                           card.properties.limits.maxComputeWorkGroupInvocations,
                                           card.properties.limits.maxComputeWorkGroupCount[0]};
  for (uint32_t i = 0; i < recorded->count; i++) {
    weir__spin_vulkan_dispatch shape = {.groups = {1, 1, 1}, .threads = 32};
    const weir__stream_kernel *kernel = recorded->kernels[i];
    if (kernel) weir__spin_vulkan_shape(kernel, recorded->stream->sms, &limits, &shape);
    vulkan_dispatch *dispatch = &out_program->dispatches[i];
    *dispatch = (vulkan_dispatch){.groups = {1, 1, 1}};
    dispatch->pipeline = vulkan_spin_pipeline(vulkan_spin.clock, shape.threads, shape.shared_bytes);
    for (int axis = 0; axis < 3 && !quick; axis++) dispatch->groups[axis] = shape.groups[axis];
    dispatch->us = quick ? 0 : shape.us;
    if (!kernel) continue;
    weir__stream_cost cost;
    weir__stream_kernel_cost(kernel, recorded->stream->sms, &cost);
    out_program->times[i] = cost.us;
    out_program->works[i] = cost.work_us;
  }
}

void vulkan_program_free(vulkan_program *program) {
  gpu_program_free(&program->recorded);
  free(program->dispatches);
  free(program->times);
  free(program->works);
  *program = (vulkan_program){0};
}

static void check(weir_status status, const vulkan_program *program) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "weir-gpu-vulkan: %s: no plan, or a wrong one: %s\n", program->recorded.name, weir_last_error());
  exit(1);
}

// In program order: see vulkan_plan().
static void assign_chains(const weir__plan_graph *graph, uint32_t queues, uint32_t *out_queues) {
  uint32_t last[VULKAN_MOST_QUEUES], robin = 0;
  for (uint32_t q = 0; q < queues; q++) last[q] = UINT32_MAX;
  for (uint32_t i = 0; i < graph->task_count; i++) {
    uint32_t queue = UINT32_MAX;
    for (uint64_t e = graph->first[i]; e < graph->first[i + 1] && queue == UINT32_MAX; e++) {
      uint32_t before = graph->predecessors[e];
      if (last[out_queues[before]] == before) queue = out_queues[before];
    }
    if (queue == UINT32_MAX) queue = robin++ % queues;
    out_queues[i] = queue;
    last[queue] = i;
  }
}

void vulkan_plan(const vulkan_program *program, const weir__plan_graph *graph, vulkan_order order, uint32_t queues,
                 bool chains, weir__barrier_plan *out_plan) {
  uint32_t count = program->recorded.count, *epochs = gpu_memory(count, sizeof *epochs);
  uint32_t *assigned = gpu_memory(count, sizeof *assigned);
  uint32_t *levels = NULL, *sorted = NULL;
  if (order == VULKAN_LEVELS || order == VULKAN_BALANCED) {
    levels = gpu_memory(count, sizeof *levels);
    sorted = gpu_memory(count, sizeof *sorted);
    uint32_t level_count = 0;
    const weir__barrier_costs costs = {program->times, program->works, BARRIER_US};
    if (order == VULKAN_LEVELS)
      level_count = weir__plan_levels(graph, levels);
    else
      check(weir__barrier_balance(graph, &costs, false, levels, &level_count, NULL), program);
    check(weir__barriers_level_order(count, levels, level_count, sorted), program);
  }
  if (queues > 1) {
    weir__barrier_queues wanted = {.queue_count = queues,
                                   .order = sorted,
                                   .wanted = chains ? assigned : NULL,
                                   .times = program->times,
                                   .barrier_time = BARRIER_US,
                                   .semaphore_time = SEMAPHORE_US};
    if (chains) assign_chains(graph, queues, assigned);
    check(weir__barrier_plan_queues(graph, &wanted, out_plan, NULL), program);
  } else {
    if (order == VULKAN_EACH) {
      for (uint32_t i = 0; i < count; i++) epochs[i] = i;
    } else if (order == VULKAN_BALANCED) {
      for (uint32_t i = 0; i < count; i++) epochs[i] = levels[i];
    } else if (order != VULKAN_UNORDERED) {
      weir__barriers_in_order(graph, sorted, epochs, NULL);
    }
    check(weir__barrier_plan_create(count, sorted, epochs, out_plan), program);
  }
  if (order != VULKAN_UNORDERED) check(weir__barrier_check_plan(graph, out_plan), program);
  free(epochs);
  free(assigned);
  free(levels);
  free(sorted);
}
