// SPDX-License-Identifier: Apache-2.0
#include "plan/barriers_fill.h"

enum { MOST_ASIDE = 64 }; // ready tasks that a level may pass over

// The most urgent task is at the root; of equals the first of the program.
static bool before(const weir__level_work *work, uint32_t a, uint32_t b) {
  return work->urgency[a] != work->urgency[b] ? work->urgency[a] > work->urgency[b] : a < b;
}

static void push(weir__level_work *work, uint32_t *count, uint32_t task) {
  uint32_t at = (*count)++;
  while (at > 0 && before(work, task, work->heap[(at - 1) / 2])) {
    work->heap[at] = work->heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  work->heap[at] = task;
}

static uint32_t pop(weir__level_work *work, uint32_t *count) {
  uint32_t top = work->heap[0], last = work->heap[--*count], at = 0;
  for (uint32_t child = 1; child < *count; child = 2 * at + 1) {
    if (child + 1 < *count && before(work, work->heap[child + 1], work->heap[child])) child++;
    if (!before(work, work->heap[child], last)) break;
    work->heap[at] = work->heap[child];
    at = child;
  }
  work->heap[at] = last;
  return top;
}

typedef struct open_level {
  uint32_t index;
  double time;           // of what opened it
  double sum;            // of the work of its tasks
  uint32_t first, count; // its tasks in `filled`
} open_level;

static void put(const weir__level_work *work, open_level *level, uint32_t task, uint32_t *levels) {
  level->sum += weir__level_task_work(work->costs, task);
  levels[task] = level->index;
  work->filled[level->first + level->count++] = task;
}

// Puts a task that opens the level, alone or with others.
static void open_with(const weir__level_work *work, open_level *level, uint32_t task, uint32_t *levels) {
  if (work->costs->times[task] > level->time) level->time = work->costs->times[task];
  put(work, level, task, levels);
}

static bool joins(const weir__level_work *work, const weir__level_rule *rule, const open_level *level, uint32_t task) {
  if (work->costs->times[task] > rule->stretch * level->time) return false;
  return !rule->full || level->sum + weir__level_task_work(work->costs, task) <= level->time;
}

static void add_ready(weir__level_work *work, const weir__level_rule *rule, open_level *level, uint32_t *ready,
                      uint32_t *levels) {
  uint32_t aside[MOST_ASIDE], aside_count = 0;
  while (*ready > 0 && aside_count < MOST_ASIDE) {
    uint32_t task = pop(work, ready);
    if (levels[task] != WEIR__LEVEL_NONE) continue; // put before its turn, since it came last on its level
    if (level->count == 0)
      open_with(work, level, task, levels);
    else if (joins(work, rule, level, task))
      put(work, level, task, levels);
    else
      aside[aside_count++] = task;
  }
  while (aside_count > 0) push(work, ready, aside[--aside_count]);
}

static void release_successors(weir__level_work *work, const open_level *level, uint32_t *ready) {
  for (uint32_t i = 0; i < level->count; i++) {
    uint32_t task = work->filled[level->first + i];
    for (uint64_t e = work->first_successor[task]; e < work->first_successor[task + 1]; e++) {
      if (--work->missing[work->successors[e]] == 0) push(work, ready, work->successors[e]);
    }
  }
}

// Lists the tasks by the level on which they come at the latest, in `heads` and `next`.
static void list_by_latest(weir__level_work *work) {
  for (uint32_t level = 0; level < work->level_count; level++) work->heads[level] = WEIR__LEVEL_NONE;
  for (uint32_t t = work->graph->task_count; t > 0; t--) {
    work->next[t - 1] = work->heads[work->latest[t - 1]];
    work->heads[work->latest[t - 1]] = t - 1;
  }
}

uint32_t weir__level_fill(weir__level_work *work, const weir__level_rule *rule, uint32_t *out_levels) {
  uint32_t ready = 0, count = work->graph->task_count;
  for (uint32_t t = 0; t < count; t++) {
    out_levels[t] = WEIR__LEVEL_NONE;
    work->urgency[t] = rule->shortest ? -work->costs->times[t] : work->ranks[t];
    work->missing[t] = (uint32_t)(work->graph->first[t + 1] - work->graph->first[t]);
    if (work->missing[t] == 0) push(work, &ready, t);
  }
  list_by_latest(work);
  open_level level = {0};
  while (level.first < count) {
    for (uint32_t t = rule->fewest ? work->heads[level.index] : WEIR__LEVEL_NONE; t != WEIR__LEVEL_NONE;
         t = work->next[t]) {
      if (out_levels[t] == WEIR__LEVEL_NONE) open_with(work, &level, t, out_levels);
    }
    add_ready(work, rule, &level, &ready, out_levels);
    release_successors(work, &level, &ready);
    level = (open_level){.index = level.index + 1, .first = level.first + level.count};
  }
  return level.index;
}
