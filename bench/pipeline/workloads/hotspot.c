// SPDX-License-Identifier: Apache-2.0
//
// Heat on a plate, one kernel a step, back and forth between two buffers. The reference computes in double and by cells' neighbours.
#include <stdlib.h>
#include <string.h>

#include "hotspot.kernels.h"
#include "shape.h"
#include "workloads.h"

typedef struct size {
  int32_t width, height; // width: a multiple of 64
  int32_t rows;          // of a work-group
  int32_t steps;
} size;

static const size sizes[JOB_KINDS][JOB_SIZES] = {
    {{64, 12, 12, 10}, {64, 128, 32, 10}, {256, 288, 32, 10}},
    {{64, 12, 12, 2}, {64, 12, 12, 4}, {256, 96, 32, 10}},
    {{128, 64, 4, 2}, {512, 256, 16, 8}, {1024, 1024, 128, 25}},
};

static bool shape(const char *kind, uint64_t kernels_ns, job_shape *out_shape) {
  const size *s = &sizes[job_kind_index(kind)][job_size_index(kernels_ns)];
  uint64_t bytes = 4 * (uint64_t)s->width * (uint64_t)s->height;
  job_builder b = {.shape.name = "hotspot"};
  uint32_t from = job_add_input(&b, bytes);
  uint32_t power = job_add_input(&b, bytes);
  uint32_t to = job_add_buffer(&b, bytes);
  for (int32_t step = 0; step < s->steps; step++) {
    job_add_kernel(&b, &hotspot_step, (uint32_t)s->width / 64, (uint32_t)((s->height + s->rows - 1) / s->rows),
                   JOB_KERNEL_ARGS(job_reads(from), job_reads(power), job_writes(to), job_int(s->width),
                                   job_int(s->height), job_int(s->rows)));
    uint32_t last = from;
    from = to;
    to = last;
  }
  job_add_result(&b, from);
  return job_shape_built(&b, out_shape);
}

// Temperatures from 60 to 100, powers from 0 to 8.
static void input(const job_shape *shape, uint32_t variant, void *const *hosts) {
  uint64_t state = job_seed(variant);
  float *heat = hosts[0], *power = hosts[1];
  for (uint64_t i = 0; i < shape->host_bytes[0] / 4; i++) {
    heat[i] = 60 + (float)(job_random(&state) & 0xfff) * (40.0f / 4096);
    power[i] = (float)(job_random(&state) & 0xfff) * (8.0f / 4096);
  }
}

static void reference(const job_shape *shape, uint32_t variant, void *const *hosts) {
  (void)variant;
  static const int32_t across[4] = {-1, 1, 0, 0}, down[4] = {0, 0, -1, 1};
  static const double share[4] = {0.0625, 0.0625, 0.125, 0.125};
  const float *heat = hosts[0], *power = hosts[1];
  float *result = hosts[2];
  uint64_t cells = shape->host_bytes[0] / 4;
  int32_t width = (int32_t)shape->steps[2].groups[0] * 64, height = (int32_t)(cells / (uint64_t)width);
  double *from = malloc(2 * cells * sizeof *from);
  if (!from) return; // then no result equals this one
  double *to = from + cells, *first = from;
  for (uint64_t i = 0; i < cells; i++) from[i] = (double)heat[i];
  for (uint32_t step = 3; step < shape->step_count; step++) { // the first: copies in; the last: the copy out
    memcpy(to, from, cells * sizeof *to);
    for (int32_t y = 0; y < height; y++) {
      for (int32_t x = 0; x < width; x++) {
        int32_t cell = y * width + x;
        to[cell] += 0.5 * (double)power[cell] + (80 - from[cell]) / 64;
        for (int i = 0; i < 4; i++) {
          int32_t column = x + across[i], row = y + down[i];
          bool inside = column >= 0 && column < width && row >= 0 && row < height;
          if (inside) to[cell] += share[i] * (from[row * width + column] - from[cell]);
        }
      }
    }
    double *last = from;
    from = to;
    to = last;
  }
  for (uint64_t i = 0; i < cells; i++) result[i] = (float)from[i];
  free(first);
}

const job_workload job_hotspot = {.name = "hotspot",
                                  .about = "steps of heat on a plate: 1 kernel a step, back and forth",
                                  .shape = shape,
                                  .input = input,
                                  .reference = reference,
                                  .tolerance = 1e-3,
                                  .floats = true};
