// SPDX-License-Identifier: Apache-2.0
#include "plan/barriers_cost.h"

#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "plan/barriers_fill.h"
#include "plan/paths.h"

static weir_status no_memory(uint32_t task_count) {
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory for the levels of %u tasks", task_count);
}

weir_status weir__barrier_levels_time(const weir__barrier_costs *costs, uint32_t task_count, const uint32_t *levels,
                                      uint32_t level_count, double *out_time) {
  *out_time = 0;
  double *longest = weir__allocate(((size_t)level_count + 1) * sizeof *longest);
  double *sums = weir__allocate_zeroed(((size_t)level_count + 1) * sizeof *sums);
  if (!longest || !sums) {
    weir__free(longest);
    weir__free(sums);
    return no_memory(task_count);
  }
  for (uint32_t level = 0; level < level_count; level++) longest[level] = -1; // without tasks
  for (uint32_t t = 0; t < task_count; t++) {
    if (costs->times[t] > longest[levels[t]]) longest[levels[t]] = costs->times[t];
    sums[levels[t]] += weir__level_task_work(costs, t);
  }
  uint32_t used = 0;
  for (uint32_t level = 0; level < level_count; level++) {
    if (longest[level] < 0) continue;
    *out_time += (longest[level] > sums[level] ? longest[level] : sums[level]) + (used++ > 0 ? costs->barrier : 0);
  }
  weir__free(longest);
  weir__free(sums);
  return WEIR_OK;
}

// Successors in rows, from predecessors in rows.
static void turn_edges(weir__level_work *work) {
  const weir__plan_graph *graph = work->graph;
  uint64_t *first = work->first_successor;
  memset(first, 0, ((size_t)graph->task_count + 2) * sizeof *first);
  uint64_t edges = weir__plan_graph_edge_count(graph);
  for (uint64_t e = 0; e < edges; e++) first[graph->predecessors[e] + 2]++;
  for (uint32_t t = 0; t < graph->task_count; t++) first[t + 2] += first[t + 1];
  for (uint32_t t = 0; t < graph->task_count; t++) {
    for (uint64_t e = graph->first[t]; e < graph->first[t + 1]; e++)
      work->successors[first[graph->predecessors[e] + 1]++] = t;
  }
}

static void find_levels(weir__level_work *work) {
  work->level_count = weir__plan_levels(work->graph, work->earliest);
  for (uint32_t t = work->graph->task_count; t > 0; t--) {
    uint32_t latest = work->level_count - 1;
    for (uint64_t e = work->first_successor[t - 1]; e < work->first_successor[t]; e++) {
      if (work->latest[work->successors[e]] <= latest) latest = work->latest[work->successors[e]] - 1;
    }
    work->latest[t - 1] = latest;
  }
}

weir_status weir__level_work_create(const weir__plan_graph *graph, const weir__barrier_costs *costs,
                                    weir__level_work *out_work) {
  size_t count = (size_t)graph->task_count + 2;
  weir__level_work work = {.graph = graph, .costs = costs};
  uint32_t **arrays[] = {&work.earliest, &work.latest, &work.missing, &work.heap,
                         &work.filled,   &work.heads,  &work.next,    &work.previous};
  bool enough = true;
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    *arrays[i] = weir__allocate(count * sizeof **arrays[i]);
    enough = enough && *arrays[i];
  }
  work.first_successor = weir__allocate(count * sizeof *work.first_successor);
  work.successors = weir__allocate((weir__plan_graph_edge_count(graph) + 1) * sizeof *work.successors);
  work.ranks = weir__allocate(count * sizeof *work.ranks);
  work.urgency = weir__allocate(count * sizeof *work.urgency);
  work.longest = weir__allocate(count * sizeof *work.longest);
  work.sums = weir__allocate(count * sizeof *work.sums);
  *out_work = work;
  if (!enough || !work.first_successor || !work.successors || !work.ranks || !work.urgency || !work.longest ||
      !work.sums) {
    weir__level_work_free(out_work);
    return no_memory(graph->task_count);
  }
  turn_edges(out_work);
  find_levels(out_work);
  weir__plan_upward_ranks(graph, costs->times, work.ranks);
  return WEIR_OK;
}

void weir__level_work_free(weir__level_work *work) {
  weir__free(work->first_successor);
  weir__free(work->successors);
  weir__free(work->earliest);
  weir__free(work->latest);
  weir__free(work->ranks);
  weir__free(work->urgency);
  weir__free(work->missing);
  weir__free(work->heap);
  weir__free(work->filled);
  weir__free(work->heads);
  weir__free(work->next);
  weir__free(work->previous);
  weir__free(work->longest);
  weir__free(work->sums);
  *work = (weir__level_work){0};
}

typedef struct best_levels {
  uint32_t *levels, count;
  double time;
} best_levels;

// Improves levels and keeps them if they are the best so far.
static weir_status try_levels(weir__level_work *work, uint32_t *levels, uint32_t level_count, best_levels *best) {
  uint32_t task_count = work->graph->task_count;
  double time;
  level_count = weir__level_improve(work, levels, level_count);
  weir_status status = weir__barrier_levels_time(work->costs, task_count, levels, level_count, &time);
  if (status != WEIR_OK || time >= best->time) return status;
  memcpy(best->levels, levels, task_count * sizeof *levels);
  best->count = level_count;
  best->time = time;
  return WEIR_OK;
}

static weir_status try_rules(weir__level_work *work, bool fewest, uint32_t *levels, best_levels *best) {
  static const weir__level_rule rules[] = {
      {.stretch = 1, .full = true, .fewest = true},
      {.stretch = 2, .full = true, .fewest = true},
      {.stretch = 1},
      {.stretch = 1.5, .full = true},
      {.stretch = 4, .shortest = true},
  };
  weir_status status = WEIR_OK;
  for (size_t i = 0; i < sizeof rules / sizeof *rules && status == WEIR_OK; i++) {
    if (fewest && !rules[i].fewest) continue;
    uint32_t level_count = weir__level_fill(work, &rules[i], levels);
    status = try_levels(work, levels, level_count, best);
  }
  return status;
}

weir_status weir__barrier_balance(const weir__plan_graph *graph, const weir__barrier_costs *costs, bool fewest,
                                  uint32_t *out_levels, uint32_t *out_level_count, double *out_time) {
  *out_level_count = 0;
  if (out_time) *out_time = 0;
  weir__level_work work;
  weir_status status = weir__level_work_create(graph, costs, &work);
  if (status != WEIR_OK) return status;
  size_t bytes = graph->task_count * sizeof *out_levels;
  uint32_t *levels = weir__allocate(bytes + 1);
  best_levels best = {.levels = out_levels, .count = work.level_count};
  status = levels ? WEIR_OK : no_memory(graph->task_count);
  if (status == WEIR_OK) {
    memcpy(out_levels, work.earliest, bytes);
    status = weir__barrier_levels_time(costs, graph->task_count, out_levels, work.level_count, &best.time);
  }
  if (status == WEIR_OK) {
    memcpy(levels, work.earliest, bytes);
    status = try_levels(&work, levels, work.level_count, &best);
  }
  if (status == WEIR_OK) {
    memcpy(levels, work.latest, bytes);
    status = try_levels(&work, levels, work.level_count, &best);
  }
  if (status == WEIR_OK) status = try_rules(&work, fewest, levels, &best);
  if (status == WEIR_OK) {
    *out_level_count = best.count;
    if (out_time) *out_time = best.time;
  }
  weir__free(levels);
  weir__level_work_free(&work);
  return status;
}
