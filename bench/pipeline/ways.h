// SPDX-License-Identifier: Apache-2.0
//
// The ways that Weir's pipelines are compared with: each does what a careful engineer would do without Weir, by one means. Their
// run() calls the feed by job.h's rules. A way that this build or this machine lacks is listed too; its open() says why it is not
// there.
#ifndef WEIR_BENCH_PIPELINE_WAYS_H
#define WEIR_BENCH_PIPELINE_WAYS_H

#include "job.h"

extern const job_way job_ways_cpu[]; // for "cpu" and "cpu:N"; host threads: `workers`
extern const uint32_t job_ways_cpu_count;
extern const job_way job_ways_tbb[]; // for "cpu" and "cpu:N"; oneTBB
extern const uint32_t job_ways_tbb_count;
extern const job_way job_ways_taskflow[]; // for "cpu" and "cpu:N"
extern const uint32_t job_ways_taskflow_count;
extern const job_way job_ways_opencl[]; // for "opencl" and "opencl:N"
extern const uint32_t job_ways_opencl_count;
extern const job_way job_ways_cuda[]; // for "cuda" and "cuda:N"
extern const uint32_t job_ways_cuda_count;

#endif // WEIR_BENCH_PIPELINE_WAYS_H
