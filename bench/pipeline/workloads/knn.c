// SPDX-License-Identifier: Apache-2.0
//
// The k nearest of many points, 3 kernels. The reference sorts all.
#include <stdlib.h>

#include "knn.kernels.h"
#include "shape.h"
#include "workloads.h"

typedef struct size {
  int32_t groups, share, k; // points: groups * share; share: a multiple of 64; k: 64 at most
} size;

static const size sizes[JOB_KINDS][JOB_SIZES] = {
    {{4, 192, 4}, {8, 1152, 8}, {16, 6400, 10}},
    {{1, 64, 4}, {4, 192, 4}, {16, 4608, 10}},
    {{16, 64, 2}, {32, 3072, 24}, {32, 36864, 64}},
};

static bool shape(const char *kind, uint64_t kernels_ns, job_shape *out_shape) {
  const size *s = &sizes[job_kind_index(kind)][job_size_index(kernels_ns)];
  uint64_t count = (uint64_t)s->groups * (uint64_t)s->share;
  uint32_t groups = (uint32_t)s->groups;
  job_builder b = {.shape.name = "knn"};
  uint32_t points = job_add_input(&b, 8 * count);
  uint32_t query = job_add_input(&b, 8);
  uint32_t distances = job_add_buffer(&b, 4 * count);
  uint32_t best = job_add_buffer(&b, 8 * groups * (uint64_t)s->k);
  uint32_t nearest = job_add_buffer(&b, 8 * (uint64_t)s->k);
  job_add_kernel(&b, &knn_distances, (uint32_t)(count / 64), 1,
                 JOB_KERNEL_ARGS(job_reads(points), job_reads(query), job_writes(distances)));
  job_add_kernel(&b, &knn_best_of_share, groups, 1,
                 JOB_KERNEL_ARGS(job_reads(distances), job_writes(best), job_int(s->share), job_int(s->k)));
  job_add_kernel(&b, &knn_best_of_all, 1, 1,
                 JOB_KERNEL_ARGS(job_reads(best), job_writes(nearest), job_int(s->groups * s->k), job_int(s->k)));
  job_add_result(&b, nearest);
  return job_shape_built(&b, out_shape);
}

// Coordinates from 0 to 16383; so few values of them that equal distances happen.
static void input(const job_shape *shape, uint32_t variant, void *const *hosts) {
  uint64_t state = job_seed(variant);
  for (uint32_t host = 0; host < 2; host++) {
    int32_t *values = hosts[host];
    for (uint64_t i = 0; i < shape->host_bytes[host] / 4; i++) values[i] = (int32_t)(job_random(&state) % 128) * 129;
  }
}

typedef struct place {
  int32_t distance, number;
} place;

static int compare(const void *left, const void *right) {
  const place *a = left, *b = right;
  if (a->distance != b->distance) return a->distance < b->distance ? -1 : 1;
  return a->number < b->number ? -1 : 1;
}

static void reference(const job_shape *shape, uint32_t variant, void *const *hosts) {
  (void)variant;
  const int32_t *points = hosts[0], *query = hosts[1];
  int32_t *nearest = hosts[2];
  uint64_t count = shape->host_bytes[0] / 8;
  place *all = malloc(count * sizeof *all);
  if (!all) return; // then no result equals this one
  for (uint64_t i = 0; i < count; i++) {
    int32_t x = points[2 * i] - query[0], y = points[2 * i + 1] - query[1];
    all[i] = (place){x * x + y * y, (int32_t)i};
  }
  qsort(all, count, sizeof *all, compare);
  for (uint64_t i = 0; i < shape->host_bytes[2] / 8; i++) {
    nearest[2 * i] = all[i].distance;
    nearest[2 * i + 1] = all[i].number;
  }
  free(all);
}

const job_workload job_knn = {.name = "knn",
                              .about = "k nearest neighbours of a point: 3 kernels",
                              .shape = shape,
                              .input = input,
                              .reference = reference};
