// SPDX-License-Identifier: Apache-2.0
//
// A workload's inputs of all variants with what must come out, and a feed of them that compares all results.
#ifndef WEIR_BENCH_PIPELINE_DATA_H
#define WEIR_BENCH_PIPELINE_DATA_H

#include "job.h"
#include "weir/weir.h"

typedef struct job_data {
  const job_workload *workload;
  job_shape shape;
  weir_device *device;                          // that the inputs' memory is for, or NULL
  void *inputs[JOB_VARIANTS][JOB_MOST_HOSTS];   // NULL where the host memory is for results
  void *expected[JOB_VARIANTS][JOB_MOST_HOSTS]; // NULL where it is for inputs
} job_data;

// Makes the data for jobs of about `kernels_ns` on a kind of device. Inputs are in memory that `device` copies from at full
// speed; it may be NULL, and must outlive the data. false, with the reason: no memory.
bool job_data_create(const job_workload *workload, const char *kind, uint64_t kernels_ns, weir_device *device,
                     job_data *out_data, char why[JOB_WHY]);
void job_data_free(job_data *data);

// A feed that hands out the variants in turn, and compares every result.
typedef struct job_checked {
  const job_data *data;
  uint64_t done;      // tokens
  bool wrong;         // then `what` says where
  char what[JOB_WHY]; //
} job_checked;
job_feed job_checked_feed(job_checked *checked);

// The same, without comparing.
void *const *job_next_input(const job_data *data, uint64_t token);

// Compares the results of a token. false: `what` names the first that is wrong.
bool job_results_right(const job_data *data, uint64_t token, void *const *hosts, char what[JOB_WHY]);

#endif // WEIR_BENCH_PIPELINE_DATA_H
