// SPDX-License-Identifier: Apache-2.0
//
// In place of way_taskflow.cpp, where Taskflow is missing.
#include "way_steps.h"
#include "ways.h"

static void *open_nothing(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  (void)shape, (void)options;
  way_refuse(why, "this program was built without Taskflow");
  return NULL;
}

static bool run_nothing(void *state, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  (void)state, (void)count, (void)feed;
  return way_refuse(why, "this program was built without Taskflow");
}

static void close_nothing(void *state) {
  (void)state;
}

const job_way job_ways_taskflow[] = {
    {"Taskflow pipeline", "missing: needs Taskflow", open_nothing, run_nothing, close_nothing}};
const uint32_t job_ways_taskflow_count = 1;
