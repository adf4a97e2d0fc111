// SPDX-License-Identifier: Apache-2.0
#include "plan_dispatches.h"

#include <stdlib.h>

#include "base/error.h"

#define NO_RESOURCE UINT32_MAX

static uint32_t dispatches_of(const weir__stream_task *task) {
  return task->kernel_count ? task->kernel_count : 1;
}

static void count_all(const weir__stream *stream, size_t *out_dispatches, size_t *out_uses, size_t *out_accesses) {
  *out_dispatches = *out_uses = *out_accesses = 0;
  for (uint32_t t = 0; t < stream->task_count; t++) {
    const weir__stream_task *task = &stream->tasks[t];
    *out_dispatches += dispatches_of(task);
    *out_uses += (size_t)dispatches_of(task) * task->access_count;
    *out_accesses += task->access_count;
  }
}

static void fill_times(const weir__stream *stream, weir__dispatches *dispatches) {
  uint32_t at = 0;
  for (uint32_t t = 0; t < stream->task_count; t++) {
    const weir__stream_task *task = &stream->tasks[t];
    for (uint32_t k = 0; k < dispatches_of(task); k++, at++) {
      weir__stream_cost cost = {0};
      if (task->kernel_count) weir__stream_kernel_cost(&task->kernels[k], stream->sms, &cost);
      dispatches->tasks[at] = t;
      dispatches->kernels[at] = k;
      dispatches->times_us[at] = cost.us;
      dispatches->works_us[at] = cost.work_us;
    }
  }
}

// `last`: per task, room for the number of its last dispatch. `edges`: room for all.
static weir_status build_graph(const weir__stream_plan *plan, weir__dispatches *dispatches, uint32_t *last,
                               weir__plan_edge *edges) {
  size_t count = 0;
  uint32_t at = 0;
  for (uint32_t t = 0; t < plan->stream->task_count; t++) {
    for (uint64_t e = plan->graph.first[t]; e < plan->graph.first[t + 1]; e++)
      edges[count++] = (weir__plan_edge){last[plan->graph.predecessors[e]], at};
    uint32_t end = at + dispatches_of(&plan->stream->tasks[t]);
    for (at++; at < end; at++) edges[count++] = (weir__plan_edge){at - 1, at};
    last[t] = end - 1;
  }
  return weir__plan_graph_build(dispatches->count, edges, count, &dispatches->graph);
}

static uint32_t state_of(const weir__stream_task *task, uint32_t kernel, weir_mode mode) {
  bool copy = kernel < task->kernel_count && task->kernels[kernel].copy_bytes > 0;
  if (mode == WEIR_READ) return copy ? WEIR__STATE_COPY_SOURCE : WEIR__STATE_SHADER_READ;
  return copy ? WEIR__STATE_COPY_DESTINATION : WEIR__STATE_SHADER_WRITE;
}

// The resource that an access uses. By buffer, an overwrite of a whole buffer that was used starts a new one.
static uint32_t resource_of(const weir__stream_plan *plan, weir__dispatches *dispatches, uint32_t *current,
                            const weir__stream_access *access) {
  uint32_t *resource = &current[access->buffer], storage = 0;
  if (*resource != NO_RESOURCE) {
    bool whole = access->mode == WEIR_WRITE && access->bytes == plan->stream->buffers[access->buffer].bytes;
    if (plan->mode != WEIR__PLAN_BUFFER || !whole) return *resource;
    storage = dispatches->resources[*resource].storage + 1;
  }
  *resource = dispatches->uses.resource_count++;
  dispatches->resources[*resource] = (weir__dispatch_resource){access->buffer, storage};
  return *resource;
}

// `current`: per buffer, room for its resource. `taken`: room for the resources of one task's accesses.
static void fill_uses(const weir__stream_plan *plan, weir__dispatches *dispatches, uint32_t *current, uint32_t *taken) {
  const weir__stream *stream = plan->stream;
  uint64_t count = 0;
  uint32_t at = 0;
  for (uint32_t b = 0; b < stream->buffer_count; b++) current[b] = NO_RESOURCE;
  for (uint32_t t = 0; t < stream->task_count; t++) {
    const weir__stream_task *task = &stream->tasks[t];
    for (uint32_t a = 0; a < task->access_count; a++)
      taken[a] = resource_of(plan, dispatches, current, &task->accesses[a]);
    for (uint32_t k = 0; k < dispatches_of(task); k++) {
      dispatches->first_use[at++] = count;
      for (uint32_t a = 0; a < task->access_count; a++) {
        const weir__stream_access *access = &task->accesses[a];
        dispatches->use_items[count++] = (weir__barrier_use){taken[a], state_of(task, k, access->mode), access->offset,
                                                             access->offset + access->bytes};
      }
    }
  }
  dispatches->first_use[at] = count;
}

weir_status weir__dispatches_create(const weir__stream_plan *plan, weir__dispatches *out_dispatches) {
  const weir__stream *stream = plan->stream;
  size_t count, uses, accesses, edge_count = weir__plan_graph_edge_count(&plan->graph);
  count_all(stream, &count, &uses, &accesses);
  weir__dispatches dispatches = {.count = (uint32_t)count};
  *out_dispatches = (weir__dispatches){0};
  if (count > UINT32_MAX / 2)
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%zu kernels are too many to plan barriers for", count);
  dispatches.tasks = malloc((count + 1) * sizeof *dispatches.tasks);
  dispatches.kernels = malloc((count + 1) * sizeof *dispatches.kernels);
  dispatches.times_us = malloc((count + 1) * sizeof *dispatches.times_us);
  dispatches.works_us = malloc((count + 1) * sizeof *dispatches.works_us);
  dispatches.first_use = malloc((count + 1) * sizeof *dispatches.first_use);
  dispatches.use_items = malloc((uses + 1) * sizeof *dispatches.use_items);
  dispatches.resources = malloc((accesses + 1) * sizeof *dispatches.resources);
  uint32_t *last = malloc(((size_t)stream->task_count + 1) * sizeof *last);
  weir__plan_edge *edges = malloc((edge_count + count + 1) * sizeof *edges);
  uint32_t *current = malloc(((size_t)stream->buffer_count + 1) * sizeof *current);
  uint32_t *taken = malloc((accesses + 1) * sizeof *taken);
  weir_status status;
  if (dispatches.tasks && dispatches.kernels && dispatches.times_us && dispatches.works_us && dispatches.first_use &&
      dispatches.use_items && dispatches.resources && last && edges && current && taken) {
    fill_times(stream, &dispatches);
    fill_uses(plan, &dispatches, current, taken);
    dispatches.uses.first = dispatches.first_use;
    dispatches.uses.items = dispatches.use_items;
    status = build_graph(plan, &dispatches, last, edges);
  } else {
    status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory for the %zu dispatches of %s", count, stream->name);
  }
  free(last);
  free(edges);
  free(current);
  free(taken);
  if (status == WEIR_OK)
    *out_dispatches = dispatches;
  else
    weir__dispatches_free(&dispatches);
  return status;
}

void weir__dispatches_free(weir__dispatches *dispatches) {
  free(dispatches->tasks);
  free(dispatches->kernels);
  free(dispatches->times_us);
  free(dispatches->works_us);
  free(dispatches->first_use);
  free(dispatches->use_items);
  free(dispatches->resources);
  weir__plan_graph_free(&dispatches->graph);
  *dispatches = (weir__dispatches){0};
}
