// SPDX-License-Identifier: Apache-2.0
#include "plan/barriers_fill.h"

enum { MOST_ROUNDS = 8, REACH = 64 };

static const double LEAST_GAIN = 0.001; // of the time before, for another round to be worth it

static double level_cost(const weir__level_work *work, double longest, double sum) {
  return (longest > sum ? longest : sum) + work->costs->barrier;
}

static double cost_of(const weir__level_work *work, uint32_t level) {
  return work->heads[level] == WEIR__LEVEL_NONE ? 0 : level_cost(work, work->longest[level], work->sums[level]);
}

static void put(weir__level_work *work, uint32_t task, uint32_t level) {
  double time = work->costs->times[task];
  bool empty = work->heads[level] == WEIR__LEVEL_NONE;
  work->next[task] = work->heads[level];
  work->previous[task] = WEIR__LEVEL_NONE;
  if (!empty) work->previous[work->heads[level]] = task;
  work->heads[level] = task;
  if (empty || time > work->longest[level]) work->longest[level] = time;
  work->sums[level] = (empty ? 0 : work->sums[level]) + weir__level_task_work(work->costs, task);
}

// The longest time of a level's tasks but one.
static double longest_without(const weir__level_work *work, uint32_t task, uint32_t level) {
  if (work->costs->times[task] < work->longest[level]) return work->longest[level];
  double longest = 0;
  for (uint32_t t = work->heads[level]; t != WEIR__LEVEL_NONE; t = work->next[t]) {
    if (t != task && work->costs->times[t] > longest) longest = work->costs->times[t];
  }
  return longest;
}

static void take(weir__level_work *work, uint32_t task, uint32_t level) {
  work->longest[level] = longest_without(work, task, level);
  work->sums[level] -= weir__level_task_work(work->costs, task);
  if (work->previous[task] != WEIR__LEVEL_NONE)
    work->next[work->previous[task]] = work->next[task];
  else
    work->heads[level] = work->next[task];
  if (work->next[task] != WEIR__LEVEL_NONE) work->previous[work->next[task]] = work->previous[task];
}

// What is gained when a task leaves its level.
static double gain_of(const weir__level_work *work, uint32_t task, uint32_t level) {
  bool alone = work->heads[level] == task && work->next[task] == WEIR__LEVEL_NONE;
  if (alone) return cost_of(work, level);
  double sum = work->sums[level] - weir__level_task_work(work->costs, task);
  return cost_of(work, level) - level_cost(work, longest_without(work, task, level), sum);
}

// What it costs when a task comes to a level.
static double price_of(const weir__level_work *work, uint32_t task, uint32_t level) {
  double time = work->costs->times[task], sum = weir__level_task_work(work->costs, task);
  if (work->heads[level] == WEIR__LEVEL_NONE) return level_cost(work, time, sum);
  if (work->longest[level] > time) time = work->longest[level];
  return level_cost(work, time, work->sums[level] + sum) - cost_of(work, level);
}

// The levels that a task may be on, both included.
static void find_reach(const weir__level_work *work, const uint32_t *levels, uint32_t task, uint32_t level_count,
                       uint32_t *out_low, uint32_t *out_high) {
  uint32_t low = 0, high = level_count - 1;
  const weir__plan_graph *graph = work->graph;
  for (uint64_t e = graph->first[task]; e < graph->first[task + 1]; e++) {
    if (levels[graph->predecessors[e]] >= low) low = levels[graph->predecessors[e]] + 1;
  }
  for (uint64_t e = work->first_successor[task]; e < work->first_successor[task + 1]; e++) {
    if (levels[work->successors[e]] <= high) high = levels[work->successors[e]] - 1;
  }
  *out_low = levels[task] > low + REACH ? levels[task] - REACH : low;
  *out_high = high > levels[task] + REACH ? levels[task] + REACH : high;
}

// Moves a task to the level where the sum falls most. Returns by how much.
static double move(weir__level_work *work, uint32_t *levels, uint32_t task, uint32_t level_count) {
  uint32_t low, high, level = levels[task], best = level;
  double gain = gain_of(work, task, level), least = gain * (1 - 1e-9);
  if (!(gain > 0)) return 0;
  find_reach(work, levels, task, level_count, &low, &high);
  for (uint32_t to = low; to <= high; to++) {
    if (to == level) continue;
    double price = price_of(work, task, to);
    if (price >= least) continue;
    least = price;
    best = to;
  }
  if (best == level) return 0;
  take(work, task, level);
  put(work, task, best);
  levels[task] = best;
  return gain - least;
}

static void list_levels(weir__level_work *work, const uint32_t *levels, uint32_t level_count) {
  for (uint32_t level = 0; level < level_count; level++) work->heads[level] = WEIR__LEVEL_NONE;
  for (uint32_t t = work->graph->task_count; t > 0; t--) put(work, t - 1, levels[t - 1]);
}

// Whether a task of a level has a predecessor on level `below`, as numbered anew.
static bool is_kept_apart(const weir__level_work *work, const uint32_t *levels, uint32_t level, uint32_t below) {
  const weir__plan_graph *graph = work->graph;
  for (uint32_t t = work->heads[level]; t != WEIR__LEVEL_NONE; t = work->next[t]) {
    for (uint64_t e = graph->first[t]; e < graph->first[t + 1]; e++) {
      if (levels[graph->predecessors[e]] == below) return true;
    }
  }
  return false;
}

// Joins levels that no predecessor keeps apart, and drops empty ones. Returns how many are left. The lists are those of
// the old levels until they are made anew.
static uint32_t join_levels(weir__level_work *work, uint32_t *levels, uint32_t level_count) {
  uint32_t count = 0;
  for (uint32_t level = 0; level < level_count; level++) {
    if (work->heads[level] == WEIR__LEVEL_NONE) continue;
    if (count == 0 || is_kept_apart(work, levels, level, count - 1)) count++;
    for (uint32_t t = work->heads[level]; t != WEIR__LEVEL_NONE; t = work->next[t]) levels[t] = count - 1;
  }
  return count;
}

static double cost_of_all(const weir__level_work *work, uint32_t level_count) {
  double cost = 0;
  for (uint32_t level = 0; level < level_count; level++) cost += cost_of(work, level);
  return cost;
}

uint32_t weir__level_improve(weir__level_work *work, uint32_t *levels, uint32_t level_count) {
  uint32_t task_count = work->graph->task_count;
  bool enough = false;
  for (int round = 0; round < MOST_ROUNDS && !enough; round++) {
    list_levels(work, levels, level_count);
    double gained = 0, least = LEAST_GAIN * cost_of_all(work, level_count);
    for (uint32_t i = 0; i < task_count; i++)
      gained += move(work, levels, round % 2 ? i : task_count - 1 - i, level_count);
    enough = gained <= least;
    level_count = join_levels(work, levels, level_count);
  }
  return level_count;
}
