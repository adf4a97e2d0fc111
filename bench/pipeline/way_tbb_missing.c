// SPDX-License-Identifier: Apache-2.0
//
// In place of way_tbb.cpp, where oneTBB is missing.
#include "ways.h"

static void *open_nothing(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  (void)shape, (void)options;
  way_refuse(why, "this program was built without oneTBB");
  return NULL;
}

static bool run_nothing(void *state, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  (void)state, (void)count, (void)feed;
  return way_refuse(why, "this program was built without oneTBB");
}

static void close_nothing(void *state) {
  (void)state;
}

const job_way job_ways_tbb[] = {
    {"oneTBB parallel_pipeline", "missing: needs oneTBB", open_nothing, run_nothing, close_nothing}};
const uint32_t job_ways_tbb_count = 1;
