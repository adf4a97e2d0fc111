// SPDX-License-Identifier: Apache-2.0
//
// A product of matrices of small whole numbers, whose sums are exact in float in any order. The reference computes with integers.
#include <stdlib.h>
#include <string.h>

#include "gemm.kernels.h"
#include "shape.h"
#include "workloads.h"

static const int32_t sizes[JOB_KINDS][JOB_SIZES] = {
    // rows and columns, multiples of 16
    {48, 96, 208},
    {16, 32, 96},
    {64, 448, 1280},
};

static bool shape(const char *kind, uint64_t kernels_ns, job_shape *out_shape) {
  int32_t n = sizes[job_kind_index(kind)][job_size_index(kernels_ns)];
  uint64_t bytes = 4 * (uint64_t)n * (uint64_t)n;
  job_builder b = {.shape.name = "gemm"};
  uint32_t left = job_add_input(&b, bytes);
  uint32_t right = job_add_input(&b, bytes);
  uint32_t product = job_add_buffer(&b, bytes);
  job_add_kernel(&b, &gemm_tiled, (uint32_t)n / 16, (uint32_t)n / 16,
                 JOB_KERNEL_ARGS(job_reads(left), job_reads(right), job_writes(product), job_int(n)));
  job_add_result(&b, product);
  return job_shape_built(&b, out_shape);
}

static void input(const job_shape *shape, uint32_t variant, void *const *hosts) {
  uint64_t state = job_seed(variant);
  for (uint32_t host = 0; host < 2; host++) {
    float *values = hosts[host];
    for (uint64_t i = 0; i < shape->host_bytes[host] / 4; i++) values[i] = (float)(job_random(&state) % 17) - 8;
  }
}

static void reference(const job_shape *shape, uint32_t variant, void *const *hosts) {
  (void)variant;
  const float *left = hosts[0], *right = hosts[1];
  float *product = hosts[2];
  uint64_t n = shape->steps[2].groups[0] * 16u;
  int32_t *sums = malloc(n * sizeof *sums);
  if (!sums) return; // then no result equals this one
  for (uint64_t row = 0; row < n; row++) {
    memset(sums, 0, n * sizeof *sums);
    for (uint64_t k = 0; k < n; k++) {
      int32_t factor = (int32_t)left[row * n + k];
      for (uint64_t column = 0; column < n; column++) sums[column] += factor * (int32_t)right[k * n + column];
    }
    for (uint64_t column = 0; column < n; column++) product[row * n + column] = (float)sums[column];
  }
  free(sums);
}

const job_workload job_gemm = {.name = "gemm",
                               .about = "product of two square matrices: 1 kernel",
                               .shape = shape,
                               .input = input,
                               .reference = reference,
                               .floats = true};
