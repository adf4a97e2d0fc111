// SPDX-License-Identifier: Apache-2.0
//
// What a stream of equal jobs is made of, said without any runtime: Weir and every baseline run the same jobs from this. A job
// copies inputs from the host to its buffers, runs kernels, and copies results back; each job in flight has buffers and
// host memory of its own.
#ifndef WEIR_BENCH_PIPELINE_JOB_H
#define WEIR_BENCH_PIPELINE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/kernel.h"

enum { JOB_MOST_ARGS = 12, JOB_MOST_BUFFERS = 32, JOB_MOST_HOSTS = 8, JOB_WHY = 256 };

typedef enum job_step_kind {
  JOB_COPY_IN,  // all of host memory `host` to the start of buffer `buffer`
  JOB_KERNEL,   // a launch
  JOB_COPY_OUT, // the start of buffer `buffer` to all of host memory `host`
} job_step_kind;

typedef struct job_arg {
  bool is_value;
  uint32_t buffer; // whole
  weir_mode mode;
  uint32_t bytes; // of the value
  unsigned char value[16];
} job_arg;

typedef struct job_step {
  job_step_kind kind;
  uint32_t buffer, host;        // of a copy
  const weir_kernel_code *code; // of a launch: function for the CPU, source for CUDA and OpenCL, work-group size
  uint32_t groups[3];
  uint32_t arg_count;
  job_arg args[JOB_MOST_ARGS];
} job_step;

// All steps in an order in which they may run one by one. Steps that no path of buffers links may overlap.
typedef struct job_shape {
  const char *name; // of the workload
  uint32_t buffer_count, host_count, step_count;
  uint64_t buffer_bytes[JOB_MOST_BUFFERS];
  uint64_t host_bytes[JOB_MOST_HOSTS];
  job_step *steps;
} job_shape;

// A workload: shapes by size, inputs by token, and what must come out.
typedef struct job_workload {
  const char *name;
  const char *about; // one line
  // Makes the shape of about `kernels_ns` of kernel time on the device kind ("cpu", "opencl", "cuda"); false: no memory.
  bool (*shape)(const char *kind, uint64_t kernels_ns, job_shape *out_shape);
  // Writes inputs of variant 0 to JOB_VARIANTS - 1 into host memory; not that of results.
  void (*input)(const job_shape *shape, uint32_t variant, void *const *hosts);
  // Computes on the host, by another way than the kernels where there is one, what copies out must bring: 32-bit integers.
  void (*reference)(const job_shape *shape, uint32_t variant, void *const *hosts);
} job_workload;

enum { JOB_VARIANTS = 8 };

// Where jobs come from and go to. Both are called with tokens in their order, from one thread at a time.
typedef struct job_feed {
  // Where the token's inputs are, by number of host memory (NULL for results). Valid until the token is done. Blocks until the token
  // arrives, where arrivals have times of their own.
  void *const *(*next)(void *user, uint64_t token);
  // The token's results, by number of host memory (NULL for inputs), valid during the call.
  void (*done)(void *user, uint64_t token, void *const *hosts);
  void *user;
} job_feed;

typedef struct job_options {
  const char *device; // "cpu:2", "opencl:0", "cuda:0"
  uint32_t lines;     // jobs in flight at most
  uint32_t workers;   // host threads, where the way has some
} job_options;

// A way of running streams of jobs: Weir, or a baseline.
typedef struct job_way {
  const char *name;
  const char *about; // one line
  // Makes all that jobs of the shape need. NULL, with the reason in `why`: this way is not for that device, or lacks something.
  void *(*open)(const job_shape *shape, const job_options *options, char why[JOB_WHY]);
  // Runs tokens 0 to count - 1 and waits for their end. false: `why`.
  bool (*run)(void *state, uint64_t count, const job_feed *feed, char why[JOB_WHY]);
  void (*close)(void *state);
} job_way;

#endif // WEIR_BENCH_PIPELINE_JOB_H
