// SPDX-License-Identifier: Apache-2.0
//
// The parts of weir__barrier_balance: rules that fill levels, and moves that improve them.
#ifndef WEIR_PLAN_BARRIERS_FILL_H
#define WEIR_PLAN_BARRIERS_FILL_H

#include "plan/barriers_cost.h"
#include "plan/graph.h"

#define WEIR__LEVEL_NONE UINT32_MAX

// What is known of a program before levels are filled, and room to fill and improve them in.
typedef struct weir__level_work {
  const weir__plan_graph *graph;
  const weir__barrier_costs *costs;
  uint64_t *first_successor; // successors in rows, as the graph has predecessors
  uint32_t *successors;
  uint32_t *earliest, *latest; // per task: its levels when there are as few as can be
  uint32_t level_count;        // so few
  double *ranks;               // per task: the heaviest path from its start to the end
  uint32_t *missing;           // per task: predecessors without a level
  double *urgency;             // per task: of those that are ready, which one is next
  uint32_t *heap;              // the tasks that are ready, the most urgent first
  uint32_t *filled;            // tasks in the order in which they got a level
  uint32_t *heads;             // per level: its first task; task_count + 1 of them fit
  uint32_t *next, *previous;   // per task: others of its level
  double *longest, *sums;      // per level: the longest time, and all work
} weir__level_work;

// On failure what was made is freed. Errors: OUT_OF_MEMORY.
weir_status weir__level_work_create(const weir__plan_graph *graph, const weir__barrier_costs *costs,
                                    weir__level_work *out_work);
void weir__level_work_free(weir__level_work *work);

static inline double weir__level_task_work(const weir__barrier_costs *costs, uint32_t task) {
  return costs->works ? costs->works[task] : 0;
}

// How list scheduling fills a level.
typedef struct weir__level_rule {
  double stretch; // a task may join when it takes at most so many times as long as the one that opened the level
  bool full;      // and only while the work of the level fits into that time
  bool shortest;  // the shortest task is the most urgent, not the one with the heaviest path to the end
  bool fewest;    // what comes last on its level joins always, so that there are no more levels than there must be
} weir__level_rule;

// Fills levels by list scheduling. Returns how many.
uint32_t weir__level_fill(weir__level_work *work, const weir__level_rule *rule, uint32_t *out_levels);

// Improves levels until nothing falls or rounds are over. Returns how many levels are left.
uint32_t weir__level_improve(weir__level_work *work, uint32_t *levels, uint32_t level_count);

#endif // WEIR_PLAN_BARRIERS_FILL_H
