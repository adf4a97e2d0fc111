// SPDX-License-Identifier: Apache-2.0
//
// The workloads. Each has a table of sizes: rows by kind of device (CPU, OpenCL, CUDA), columns by time in a job's kernels. Rows of
// the CPU were measured on one core of an EPYC at 2 to 3 GHz. Those of OpenCL were measured with PoCL on two such cores, where a
// kernel alone takes 20 to 30 us by PoCL's clock, whatever it does: jobs of several kernels are the smallest there are, and
// longer than the column says. Rows of CUDA are estimates from the rates of an H200, with work-groups for a part of the card
// only, as small jobs have.
#ifndef WEIR_BENCH_PIPELINE_WORKLOADS_H
#define WEIR_BENCH_PIPELINE_WORKLOADS_H

#include "job.h"

extern const job_workload job_sobel, job_sssp, job_knn;

enum { JOB_WORKLOADS = 3 };
extern const job_workload *const job_workloads[JOB_WORKLOADS];

#endif // WEIR_BENCH_PIPELINE_WORKLOADS_H
