// SPDX-License-Identifier: Apache-2.0
#include "plan_barriers.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "plan/barriers.h"
#include "plan/barriers_check.h"
#include "plan/barriers_cost.h"
#include "plan/barriers_in_order.h"
#include "plan/barriers_queues.h"
#include "plan/paths.h"

enum { MEASURED_NS = 3000000, LEAST_RUNS = 3 };

// What planning needs besides the result: per dispatch, and one more.
typedef struct scratch {
  uint32_t *epochs, *order, *chain;
  weir__plan_edge *reasons;
  double *ranks;
} scratch;

static bool allocate_scratch(uint32_t count, scratch *out_scratch) {
  size_t items = (size_t)count + 1;
  *out_scratch = (scratch){.epochs = malloc(items * sizeof(uint32_t)),
                           .order = malloc(items * sizeof(uint32_t)),
                           .chain = malloc(items * sizeof(uint32_t)),
                           .reasons = malloc(items * sizeof(weir__plan_edge)),
                           .ranks = malloc(items * sizeof(double))};
  return out_scratch->epochs && out_scratch->order && out_scratch->chain && out_scratch->reasons && out_scratch->ranks;
}

static void free_scratch(scratch *use) {
  free(use->epochs);
  free(use->order);
  free(use->chain);
  free(use->reasons);
  free(use->ranks);
}

static weir__barrier_costs costs_of(const weir__stream_barriers *barriers) {
  return (weir__barrier_costs){barriers->dispatches.times_us, barriers->dispatches.works_us,
                               barriers->request.barrier_us};
}

static weir_status plan_in_order(weir__stream_barriers *barriers, scratch *use) {
  const weir__plan_graph *graph = &barriers->dispatches.graph;
  weir__barriers_in_order(graph, NULL, use->epochs, use->reasons);
  return weir__barrier_plan_create(graph->task_count, NULL, use->epochs, &barriers->plan);
}

static weir_status plan_reordered(weir__stream_barriers *barriers, scratch *use) {
  const weir__plan_graph *graph = &barriers->dispatches.graph;
  weir__barrier_costs costs = costs_of(barriers);
  uint32_t level_count;
  weir_status status =
      weir__barrier_balance(graph, &costs, !barriers->request.any_count, use->epochs, &level_count, NULL);
  if (status == WEIR_OK) status = weir__barriers_level_order(graph->task_count, use->epochs, level_count, use->order);
  if (status != WEIR_OK) return status;
  return weir__barrier_plan_create(graph->task_count, use->order, use->epochs, &barriers->plan);
}

typedef struct ranked {
  double rank;
  uint32_t task;
} ranked;

static int compare_ranked(const void *left, const void *right) {
  const ranked *a = left, *b = right;
  if (a->rank != b->rank) return a->rank > b->rank ? -1 : 1;
  return (a->task > b->task) - (a->task < b->task);
}

// The most urgent first: a predecessor is never less urgent than its task.
static weir_status order_by_rank(const weir__stream_barriers *barriers, scratch *use) {
  const weir__dispatches *dispatches = &barriers->dispatches;
  ranked *items = malloc(((size_t)dispatches->count + 1) * sizeof *items);
  if (!items) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory to sort %u dispatches", dispatches->count);
  weir__plan_upward_ranks(&dispatches->graph, dispatches->times_us, use->ranks);
  for (uint32_t d = 0; d < dispatches->count; d++) items[d] = (ranked){use->ranks[d], d};
  qsort(items, dispatches->count, sizeof *items, compare_ranked);
  for (uint32_t i = 0; i < dispatches->count; i++) use->order[i] = items[i].task;
  free(items);
  return WEIR_OK;
}

static weir_status plan_queues(weir__stream_barriers *barriers, scratch *use) {
  const weir__barrier_request *request = &barriers->request;
  weir_status status = request->reorder ? order_by_rank(barriers, use) : WEIR_OK;
  if (status != WEIR_OK) return status;
  weir__barrier_queues asked = {.queue_count = request->queues,
                                .order = request->reorder ? use->order : NULL,
                                .times = barriers->dispatches.times_us,
                                .barrier_time = request->barrier_us,
                                .semaphore_time = request->semaphore_us};
  return weir__barrier_plan_queues(&barriers->dispatches.graph, &asked, &barriers->plan, &barriers->plan_us);
}

static weir_status plan_once(weir__stream_barriers *barriers, scratch *use) {
  if (barriers->request.queues > 1) return plan_queues(barriers, use);
  return barriers->request.reorder ? plan_reordered(barriers, use) : plan_in_order(barriers, use);
}

// Plans several times and keeps the last plan and the shortest time.
static weir_status plan_measured(weir__stream_barriers *barriers, scratch *use) {
  weir_status status = WEIR_OK;
  uint64_t began = weir__clock_ns(), least = UINT64_MAX, now = began;
  for (int run = 0; status == WEIR_OK && (run < LEAST_RUNS || now - began < MEASURED_NS); run++) {
    weir__barrier_plan_free(&barriers->plan);
    uint64_t start = weir__clock_ns();
    status = plan_once(barriers, use);
    now = weir__clock_ns();
    if (now - start < least) least = now - start;
  }
  barriers->plan_ns = barriers->dispatches.count ? (double)least / barriers->dispatches.count : 0;
  return status;
}

// The checker's word on the plan, and on the proof that it is the shortest.
static weir_status check(weir__stream_barriers *barriers, const scratch *use) {
  const weir__plan_graph *graph = &barriers->dispatches.graph;
  weir_status status = weir__barrier_check_plan(graph, &barriers->plan);
  barriers->fewest = -1;
  if (status != WEIR_OK || barriers->request.queues > 1) return status;
  if (!barriers->request.reorder) {
    barriers->fewest = barriers->plan.barriers;
    return weir__barrier_check_reasons(graph, NULL, use->reasons, barriers->plan.barriers);
  }
  uint32_t levels = weir__plan_levels(graph, use->order);
  barriers->fewest = levels > 0 ? levels - 1 : 0;
  uint32_t length = weir__barriers_chain(graph, use->order, levels, use->chain);
  return weir__barrier_check_chain(graph, use->chain, length);
}

static weir_status estimate(weir__stream_barriers *barriers, const scratch *use) {
  const weir__dispatches *dispatches = &barriers->dispatches;
  double works_us = 0;
  barriers->each = dispatches->count ? dispatches->count - 1 : 0;
  barriers->each_us = barriers->each * barriers->request.barrier_us;
  for (uint32_t d = 0; d < dispatches->count; d++) {
    barriers->each_us += dispatches->times_us[d];
    works_us += dispatches->works_us[d];
  }
  if (barriers->request.queues > 1) {
    barriers->plan_us = fmax(barriers->plan_us, works_us);
    return WEIR_OK;
  }
  weir__barrier_costs costs = costs_of(barriers);
  return weir__barrier_levels_time(&costs, dispatches->count, use->epochs, barriers->plan.barriers + 1,
                                   &barriers->plan_us);
}

weir_status weir__stream_barriers_create(const weir__stream_plan *plan, const weir__barrier_request *request,
                                         weir__stream_barriers *out_barriers) {
  weir__stream_barriers barriers = {.request = *request};
  scratch use = {0};
  weir_status status = weir__dispatches_create(plan, &barriers.dispatches);
  if (status == WEIR_OK && !allocate_scratch(barriers.dispatches.count, &use))
    status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory to plan the barriers of %s", plan->stream->name);
  if (status == WEIR_OK) status = plan_measured(&barriers, &use);
  if (status == WEIR_OK) status = estimate(&barriers, &use);
  if (status == WEIR_OK) status = check(&barriers, &use);
  if (status == WEIR_OK)
    status = weir__barrier_find_transitions(&barriers.plan, &barriers.dispatches.uses, &barriers.transitions);
  free_scratch(&use);
  if (status != WEIR_OK) weir__stream_barriers_free(&barriers);
  *out_barriers = barriers;
  return status;
}

void weir__stream_barriers_free(weir__stream_barriers *barriers) {
  weir__dispatches_free(&barriers->dispatches);
  weir__barrier_plan_free(&barriers->plan);
  weir__barrier_transitions_free(&barriers->transitions);
  *barriers = (weir__stream_barriers){0};
}
