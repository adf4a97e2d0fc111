// SPDX-License-Identifier: Apache-2.0
//
// Memory of the host for a job's inputs and results: where the device is CUDA's, such as it copies from and to at full speed.
#ifndef WEIR_BENCH_PIPELINE_HOST_MEMORY_H
#define WEIR_BENCH_PIPELINE_HOST_MEMORY_H

#include "weir/weir.h"

// NULL: no memory. `device` may be NULL, and must live until the memory is freed.
void *job_host_allocate(weir_device *device, uint64_t bytes);
void job_host_free(weir_device *device, void *memory);

#endif // WEIR_BENCH_PIPELINE_HOST_MEMORY_H
