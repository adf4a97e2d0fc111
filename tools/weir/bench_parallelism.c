// SPDX-License-Identifier: Apache-2.0
//
// Parallelism against window size: time one after another over the makespan on hardware without limits, by address and
// by buffer, for every sample stream. The numbers come from tools/plan's schedule: exact, the same on every machine, and
// no time is measured.
#include <stdio.h>

#include "bench_samples.h"
#include "plan/schedule.h"
#include "plan/stream_plan.h"

enum { LEAST_WINDOW = 8, MOST_WINDOW = 4096, TEXT_BYTES = 512 };

// Adds the parallelism of one mode with one window.
static void add_row(weir__bench_report *report, weir__stream_plan *plan, uint32_t window) {
  char name[TEXT_BYTES], runtime[TEXT_BYTES];
  snprintf(name, sizeof name, "%s window %u", plan->stream->name, window);
  snprintf(runtime, sizeof runtime, "by %s", weir__plan_mode_name(plan->mode));
  double makespan_us = weir__plan_window_schedule(&plan->graph, plan->task_us, window, plan->ends);
  double parallelism = plan->serial_us / makespan_us;
  weir__bench_add(report, "parallelism", name, runtime, "x", &parallelism, 1);
}

static weir_status add_rows(weir__bench_report *report, const weir__stream *stream) {
  weir__stream_plan by_address, by_buffer;
  weir_status status = weir__stream_plan_create(stream, WEIR__PLAN_ADDRESS, 0, &by_address);
  if (status != WEIR_OK) return status;
  status = weir__stream_plan_create(stream, WEIR__PLAN_BUFFER, 0, &by_buffer);
  for (uint32_t window = LEAST_WINDOW; window <= MOST_WINDOW && status == WEIR_OK; window *= 2) {
    add_row(report, &by_address, window);
    add_row(report, &by_buffer, window);
  }
  weir__stream_plan_free(&by_address);
  weir__stream_plan_free(&by_buffer);
  return status;
}

int weir__bench_parallelism(const weir__bench_options *options, weir__bench_report *report) {
  (void)options; // exact, and quick as it is
  int code = weir__bench_each_sample("parallelism", report, add_rows);
  weir__bench_note(report, "parallelism: exact, from the schedule of a window on hardware without limits; nothing is "
                           "timed");
  return code;
}
