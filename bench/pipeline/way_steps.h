// SPDX-License-Identifier: Apache-2.0
//
// What baselines find out about a job's steps beforehand: which step must wait for which.
#ifndef WEIR_BENCH_PIPELINE_WAY_STEPS_H
#define WEIR_BENCH_PIPELINE_WAY_STEPS_H

#include "job.h"

// Steps that a step follows directly: without those that it follows through another one.
typedef struct way_steps {
  uint32_t count;
  uint32_t *first_before, *before; // of step s: before[first_before[s]] to before[first_before[s + 1] - 1], ascending
  uint32_t *first_after, *after;   // those that follow it, likewise
} way_steps;

// Two steps are in order when both touch a buffer or a host memory and one of them writes it. false: no memory.
bool way_steps_make(const job_shape *shape, way_steps *out_steps);
void way_steps_free(way_steps *steps);

// Work-groups of a launch in one dimension: 0 counts as 1.
static inline uint32_t way_groups(const job_step *step, int dimension) {
  return step->groups[dimension] > 0 ? step->groups[dimension] : 1;
}

// Whether the device is of the kind ("cuda" and "cuda:N" are of "cuda"), and N, or 0. false: `why` says what it is instead.
bool way_device_number(const char *device, const char *kind, uint32_t *out_number, char why[JOB_WHY]);

// Writes a reason. Returns false.
__attribute__((format(printf, 2, 3))) bool way_refuse(char why[JOB_WHY], const char *format, ...);

#endif // WEIR_BENCH_PIPELINE_WAY_STEPS_H
