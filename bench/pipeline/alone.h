// SPDX-License-Identifier: Apache-2.0
//
// How long a job's steps take when nothing else runs.
#ifndef WEIR_BENCH_PIPELINE_ALONE_H
#define WEIR_BENCH_PIPELINE_ALONE_H

#include "data.h"

// The sums of the times of a job's kernels and of its copies, in ns, each the median of several runs of the job by itself, from the times
// that the device notes (weir_graph_times). On the CPU with one worker. NAN where the device cannot tell.
void bench_alone(const char *device, const job_data *data, double *out_kernels_ns, double *out_copies_ns);

#endif // WEIR_BENCH_PIPELINE_ALONE_H
