// SPDX-License-Identifier: Apache-2.0
//
// A workload's jobs by a way, every result of which is compared with the reference.
#ifndef TESTS_PIPELINE_JOBS_RUN_WAY_H
#define TESTS_PIPELINE_JOBS_RUN_WAY_H

#include "data.h"

enum { SMALL_NS = 10000 }; // of kernels in a job, about

// Runs `tokens` jobs, twice, since a way runs more than once. `device` is where host memory comes from; NULL: from the C library. Fails
// the test if a result is wrong, or the way cannot run.
void run_way(const job_workload *workload, const job_way *way, const char *device_name, weir_device *device,
             uint64_t tokens);

#endif // TESTS_PIPELINE_JOBS_RUN_WAY_H
