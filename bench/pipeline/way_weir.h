// SPDX-License-Identifier: Apache-2.0
//
// Weir's ways of running streams of jobs (job.h), on any device: a pipeline whose first stage takes inputs from the feed, whose second
// submits copies and kernels, and that delivers in order.
#ifndef WEIR_BENCH_PIPELINE_WAY_WEIR_H
#define WEIR_BENCH_PIPELINE_WAY_WEIR_H

#include "job.h"

extern const job_way job_ways_weir[];
extern const uint32_t job_ways_weir_count;

#endif // WEIR_BENCH_PIPELINE_WAY_WEIR_H
