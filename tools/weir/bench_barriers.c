// SPDX-License-Identifier: Apache-2.0
//
// Barriers of the sample streams: how many, what they are estimated to cost, and what planning them takes. All but the
// last is exact and the same on every machine.
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "bench_samples.h"
#include "plan/barriers_check.h"
#include "plan/barriers_cost.h"
#include "plan/barriers_in_order.h"
#include "plan/paths.h"
#include "plan_barriers.h"

enum { LOOK_AHEAD = 20, TEXT_BYTES = 128 };

// What a barrier adds to a dispatch on an H200: 1.67 us for an empty dispatch with one, 0.21 us without.
static const double barrier_us = 1.5;

typedef struct row_maker {
  weir__bench_report *report;
  const weir__stream_plan *plan;
} row_maker;

static void add_one(const row_maker *rows, const char *what, const char *unit, double value) {
  char runtime[TEXT_BYTES];
  snprintf(runtime, sizeof runtime, "%s, by %s", what, weir__plan_mode_name(rows->plan->mode));
  weir__bench_add(rows->report, "barriers", rows->plan->stream->name, runtime, unit, &value, 1);
}

static weir_status add_plan(const row_maker *rows, const char *what, weir__barrier_request request) {
  weir__stream_barriers barriers;
  weir_status status = weir__stream_barriers_create(rows->plan, &request, &barriers);
  if (status != WEIR_OK) return status;
  add_one(rows, what, "barriers", barriers.plan.barriers);
  add_one(rows, what, "us estimated", barriers.plan_us);
  add_one(rows, what, "ns/dispatch", barriers.plan_ns);
  weir__stream_barriers_free(&barriers);
  return WEIR_OK;
}

// The order of a greedy planner that looks at LOOK_AHEAD dispatches, from the first that is left: it takes that one, and
// with it those of the others that wait for none that is left.
static void look_ahead(const weir__plan_graph *graph, bool *taken, uint32_t *out_order) {
  uint32_t count = 0;
  for (uint32_t first = 0; first < graph->task_count; first++) {
    if (taken[first]) continue;
    uint32_t begin = count, end = first + LOOK_AHEAD < graph->task_count ? first + LOOK_AHEAD : graph->task_count;
    for (uint32_t d = first; d < end; d++) {
      bool waits = taken[d];
      for (uint64_t e = graph->first[d]; e < graph->first[d + 1]; e++) waits = waits || !taken[graph->predecessors[e]];
      if (!waits) out_order[count++] = d;
    }
    for (uint32_t i = begin; i < count; i++) taken[out_order[i]] = true;
  }
}

static double estimate(const weir__dispatches *dispatches, const uint32_t *levels, uint32_t level_count,
                       weir_status *status) {
  weir__barrier_costs costs = {dispatches->times_us, dispatches->works_us, barrier_us};
  double us = 0;
  if (*status == WEIR_OK) *status = weir__barrier_levels_time(&costs, dispatches->count, levels, level_count, &us);
  return us;
}

// The look-ahead planner and the earliest levels, with what they need: arrays of one item per dispatch.
static weir_status add_others(const row_maker *rows, const weir__dispatches *dispatches, bool *taken, uint32_t *order,
                              uint32_t *levels) {
  const weir__plan_graph *graph = &dispatches->graph;
  weir__barrier_plan plan;
  look_ahead(graph, taken, order);
  uint32_t barriers = weir__barriers_in_order(graph, order, levels, NULL);
  weir_status status = weir__barrier_plan_create(graph->task_count, order, levels, &plan);
  if (status == WEIR_OK) status = weir__barrier_check_plan(graph, &plan);
  weir__barrier_plan_free(&plan);
  add_one(rows, "look-ahead", "barriers", barriers);
  add_one(rows, "look-ahead", "us estimated", estimate(dispatches, levels, barriers + 1, &status));
  uint32_t level_count = weir__plan_levels(graph, levels);
  add_one(rows, "earliest levels", "us estimated", estimate(dispatches, levels, level_count, &status));
  double each_us = dispatches->count ? (dispatches->count - 1) * barrier_us : 0;
  for (uint32_t d = 0; d < dispatches->count; d++) each_us += dispatches->times_us[d];
  add_one(rows, "after each", "barriers", dispatches->count ? dispatches->count - 1 : 0);
  add_one(rows, "after each", "us estimated", each_us);
  return status;
}

static weir_status add_comparisons(const row_maker *rows) {
  weir__dispatches dispatches;
  weir_status status = weir__dispatches_create(rows->plan, &dispatches);
  if (status != WEIR_OK) return status;
  bool *taken = calloc((size_t)dispatches.count + 1, sizeof *taken);
  uint32_t *order = malloc(((size_t)dispatches.count + 1) * sizeof *order);
  uint32_t *levels = malloc(((size_t)dispatches.count + 1) * sizeof *levels);
  if (taken && order && levels)
    status = add_others(rows, &dispatches, taken, order, levels);
  else
    status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory for orders of %u dispatches", dispatches.count);
  free(taken);
  free(order);
  free(levels);
  weir__dispatches_free(&dispatches);
  return status;
}

static weir_status add_mode(weir__bench_report *report, const weir__stream *stream, weir__plan_mode mode) {
  weir__stream_plan plan;
  weir_status status = weir__stream_plan_create(stream, mode, 0, &plan);
  if (status != WEIR_OK) return status;
  row_maker rows = {report, &plan};
  weir__barrier_request request = {.queues = 1, .barrier_us = barrier_us};
  status = add_comparisons(&rows);
  if (status == WEIR_OK) status = add_plan(&rows, "fixed", request);
  request.reorder = true;
  if (status == WEIR_OK) status = add_plan(&rows, "reordered", request);
  request.any_count = true;
  if (status == WEIR_OK) status = add_plan(&rows, "any count", request);
  weir__stream_plan_free(&plan);
  return status;
}

static weir_status add_stream(weir__bench_report *report, const weir__stream *stream) {
  weir_status status = add_mode(report, stream, WEIR__PLAN_ADDRESS);
  return status == WEIR_OK ? add_mode(report, stream, WEIR__PLAN_BUFFER) : status;
}

int weir__bench_barriers(const weir__bench_options *options, weir__bench_report *report) {
  (void)options; // exact but for the time that planning takes, and quick as it is
  int code = weir__bench_each_sample("barriers", report, add_stream);
  weir__bench_note(
      report,
      "barriers: estimated from recorded times with %.1f us for a barrier; look-ahead: a greedy planner that "
      "looks at %d dispatches",
      barrier_us, LOOK_AHEAD);
  return code;
}
