// SPDX-License-Identifier: Apache-2.0
//
// The ways that Weir's pipelines are compared with: each does what a careful engineer would do without Weir, by one means. Their
// run() calls the feed by job.h's rules. A way that this build or this machine lacks is listed too; its open() says why it is not
// there.
#ifndef WEIR_BENCH_PIPELINE_WAYS_H
#define WEIR_BENCH_PIPELINE_WAYS_H

#include <stdarg.h>
#include <stdio.h>

#include "job.h"

extern const job_way job_ways_tbb[]; // for "cpu" and "cpu:N"
extern const uint32_t job_ways_tbb_count;
extern const job_way job_ways_cuda[]; // for "cuda" and "cuda:N"
extern const uint32_t job_ways_cuda_count;

// Writes a reason. Returns false.
__attribute__((format(printf, 2, 3))) static inline bool way_refuse(char why[JOB_WHY], const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, JOB_WHY, format, arguments);
  va_end(arguments);
  return false;
}

// Work-groups of a launch in one dimension: 0 counts as 1.
static inline uint32_t way_groups(const job_step *step, int dimension) {
  return step->groups[dimension] > 0 ? step->groups[dimension] : 1;
}

#endif // WEIR_BENCH_PIPELINE_WAYS_H
