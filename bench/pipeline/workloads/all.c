// SPDX-License-Identifier: Apache-2.0
#include "workloads.h"

const job_workload *const job_workloads[JOB_WORKLOADS] = {
    &job_sobel,
    &job_sssp,
    &job_knn,
};
