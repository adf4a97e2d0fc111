// SPDX-License-Identifier: Apache-2.0
//
// A step of back-propagation, 4 kernels. The reference computes in double, and sums in another order.
#include <math.h>

#include "backprop.kernels.h"
#include "shape.h"
#include "workloads.h"

typedef struct size {
  int32_t groups, rows; // inputs: groups * rows; rows, of a work-group: a multiple of 16
} size;

static const size sizes[JOB_KINDS][JOB_SIZES] = {
    {{4, 192}, {8, 768}, {16, 2560}},
    {{1, 64}, {4, 192}, {8, 3072}},
    {{4, 64}, {16, 1024}, {16, 20480}},
};

enum { HIDDEN = 16 };
static const float rate = 0.25f;

static bool shape(const char *kind, uint64_t kernels_ns, job_shape *out_shape) {
  const size *s = &sizes[job_kind_index(kind)][job_size_index(kernels_ns)];
  uint64_t count = (uint64_t)s->groups * (uint64_t)s->rows;
  uint32_t groups = (uint32_t)s->groups;
  job_builder b = {.shape.name = "backprop"};
  uint32_t inputs = job_add_input(&b, 4 * count);
  uint32_t weights = job_add_input(&b, 4 * HIDDEN * count);
  uint32_t out_weights = job_add_input(&b, 4 * HIDDEN);
  uint32_t wanted = job_add_input(&b, 4);
  uint32_t partial = job_add_buffer(&b, 4 * HIDDEN * groups);
  uint32_t hidden = job_add_buffer(&b, 4 * HIDDEN);
  uint32_t errors = job_add_buffer(&b, 4 * (HIDDEN + 1));
  job_add_kernel(&b, &backprop_forward, groups, 1,
                 JOB_KERNEL_ARGS(job_reads(inputs), job_reads(weights), job_writes(partial), job_int(s->rows)));
  job_add_kernel(&b, &backprop_errors, 1, 1,
                 JOB_KERNEL_ARGS(job_reads(partial), job_reads(out_weights), job_reads(wanted), job_writes(hidden),
                                 job_writes(errors), job_int(s->groups)));
  job_add_kernel(&b, &backprop_adjust_output, 1, 1,
                 JOB_KERNEL_ARGS(job_reads(hidden), job_reads(errors), job_updates(out_weights), job_float(rate)));
  job_add_kernel(
      &b, &backprop_adjust, groups, 1,
      JOB_KERNEL_ARGS(job_reads(inputs), job_reads(errors), job_updates(weights), job_int(s->rows), job_float(rate)));
  job_add_result(&b, out_weights);
  job_add_result(&b, weights);
  return job_shape_built(&b, out_shape);
}

// Inputs from -1 to 1, weights such that sums are of that size too.
static void input(const job_shape *shape, uint32_t variant, void *const *hosts) {
  uint64_t state = job_seed(variant);
  uint64_t count = shape->host_bytes[0] / 4;
  double scale[4] = {1, 3 / sqrt((double)count), 1, 1};
  for (uint32_t host = 0; host < 4; host++) {
    float *values = hosts[host];
    for (uint64_t i = 0; i < shape->host_bytes[host] / 4; i++) {
      values[i] = (float)(scale[host] * ((double)(job_random(&state) & 0xffff) / 32768 - 1));
    }
  }
}

static void reference(const job_shape *shape, uint32_t variant, void *const *hosts) {
  (void)variant;
  const float *inputs = hosts[0], *weights = hosts[1], *out_weights = hosts[2], *wanted = hosts[3];
  float *new_out_weights = hosts[4], *new_weights = hosts[5];
  uint64_t count = shape->host_bytes[0] / 4;
  double hidden[HIDDEN], out = 0;
  for (uint64_t unit = 0; unit < HIDDEN; unit++) {
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) sum += (double)inputs[i] * (double)weights[i * HIDDEN + unit];
    hidden[unit] = sum / (1 + fabs(sum));
    out += hidden[unit] * (double)out_weights[unit];
  }
  double error = ((double)*wanted - out / (1 + fabs(out))) / ((1 + fabs(out)) * (1 + fabs(out)));
  for (uint64_t unit = 0; unit < HIDDEN; unit++) {
    double slope = (1 - fabs(hidden[unit])) * (1 - fabs(hidden[unit]));
    double delta = slope * (double)out_weights[unit] * error;
    new_out_weights[unit] = (float)((double)out_weights[unit] + (double)rate * error * hidden[unit]);
    for (uint64_t i = 0; i < count; i++) {
      uint64_t at = i * HIDDEN + unit;
      new_weights[at] = (float)((double)weights[at] + (double)rate * delta * (double)inputs[i]);
    }
  }
}

const job_workload job_backprop = {.name = "backprop",
                                   .about = "a step of back-propagation, one hidden layer: 4 kernels",
                                   .shape = shape,
                                   .input = input,
                                   .reference = reference,
                                   .tolerance = 1e-5,
                                   .floats = true};
