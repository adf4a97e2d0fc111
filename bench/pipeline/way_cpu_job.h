// SPDX-License-Identifier: Apache-2.0
//
// Jobs on the CPU: each line's memory, and the steps as calls. The shape must outlive it.
#ifndef WEIR_BENCH_PIPELINE_WAY_CPU_JOB_H
#define WEIR_BENCH_PIPELINE_WAY_CPU_JOB_H

#include "job.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct way_cpu_line {
  unsigned char **buffers;
  void **results; // by number of host memory; NULL for inputs
  void **args;    // of all launches, one after the other
} way_cpu_line;

typedef struct way_cpu_job {
  const job_shape *shape;
  uint32_t line_count;
  way_cpu_line *lines;
  uint32_t *first_arg;         // per step
  unsigned char (*values)[16]; // per argument of all launches, aligned
} way_cpu_job;

// Also refuses a device that is not the CPU.
bool way_cpu_job_make(const job_shape *shape, const job_options *options, way_cpu_job *out_job, char why[JOB_WHY]);
void way_cpu_job_free(way_cpu_job *job);

// How much there is to divide: work-groups of a launch, bytes of a copy.
uint64_t way_cpu_step_size(const way_cpu_job *job, uint32_t step);

// Into how many parts a step is worth dividing, at most.
uint32_t way_cpu_step_parts(const way_cpu_job *job, uint32_t step, uint32_t most);

// Runs part `part` of `parts`.
void way_cpu_run_part(const way_cpu_job *job, uint32_t line, uint32_t step, uint32_t part, uint32_t parts,
                      void *const *inputs);

// Runs a whole job in this thread.
void way_cpu_run(const way_cpu_job *job, uint32_t line, void *const *inputs);

#ifdef __cplusplus
}
#endif
#endif // WEIR_BENCH_PIPELINE_WAY_CPU_JOB_H
