// SPDX-License-Identifier: Apache-2.0
//
// Sobel: a colour image to its gradient, two kernels. The reference applies the masks one direction at a time.
#include <stdlib.h>

#include "shape.h"
#include "sobel.kernels.h"
#include "workloads.h"

typedef struct size {
  int32_t width, height; // width: a multiple of 64
  int32_t rows;          // of a work-group
} size;

static const size sizes[JOB_KINDS][JOB_SIZES] = {
    {{64, 60, 16}, {256, 160, 32}, {768, 560, 64}},
    {{64, 28, 16}, {64, 60, 16}, {512, 400, 64}},
    {{64, 64, 4}, {768, 512, 64}, {2304, 1728, 1152}},
};

static bool shape(const char *kind, uint64_t kernels_ns, job_shape *out_shape) {
  const size *s = &sizes[job_kind_index(kind)][job_size_index(kernels_ns)];
  int32_t stride = s->width + 64;
  uint32_t columns = (uint32_t)s->width / 64;
  uint64_t pixels = (uint64_t)s->width * (uint64_t)s->height;
  job_builder b = {.shape.name = "sobel"};
  uint32_t colours = job_add_input(&b, 4 * pixels);
  uint32_t grey = job_add_buffer(&b, 4 * (uint64_t)stride * (uint64_t)(s->height + 2));
  uint32_t gradient = job_add_buffer(&b, 4 * pixels);
  job_add_kernel(&b, &sobel_grey, columns + 1, (uint32_t)((s->height + 2 + s->rows - 1) / s->rows),
                 JOB_KERNEL_ARGS(job_reads(colours), job_writes(grey), job_int(s->width), job_int(s->height),
                                 job_int(stride), job_int(s->rows)));
  job_add_kernel(&b, &sobel_gradient, columns, (uint32_t)((s->height + s->rows - 1) / s->rows),
                 JOB_KERNEL_ARGS(job_reads(grey), job_writes(gradient), job_int(s->width), job_int(s->height),
                                 job_int(stride), job_int(s->rows)));
  job_add_result(&b, gradient);
  return job_shape_built(&b, out_shape);
}

static void input(const job_shape *shape, uint32_t variant, void *const *hosts) {
  uint32_t *colours = hosts[0];
  uint64_t state = job_seed(variant);
  for (uint64_t i = 0; i < shape->host_bytes[0] / 4; i++) colours[i] = job_random(&state);
}

static int clamp(int value, int most) {
  return value < 0 ? 0 : value > most ? most : value;
}

static int grey_of(uint32_t colour) {
  return (int)((77 * (colour & 0xff) + 151 * ((colour >> 8) & 0xff) + 28 * ((colour >> 16) & 0xff)) / 256);
}

static void reference(const job_shape *shape, uint32_t variant, void *const *hosts) {
  (void)variant;
  const uint32_t *colours = hosts[0];
  int32_t *gradient = hosts[1];
  int32_t width = (int32_t)shape->steps[2].groups[0] * 64;
  int32_t height = (int32_t)(shape->host_bytes[0] / 4) / width;
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      int smooth[3], slope[3]; // of three columns from above to below
      for (int i = 0; i < 3; i++) {
        int column = clamp(x + i - 1, width - 1), value[3];
        for (int j = 0; j < 3; j++) value[j] = grey_of(colours[clamp(y + j - 1, height - 1) * width + column]);
        smooth[i] = value[0] + 2 * value[1] + value[2];
        slope[i] = value[2] - value[0];
      }
      int sum = abs(smooth[2] - smooth[0]) + abs(slope[0] + 2 * slope[1] + slope[2]);
      gradient[y * width + x] = sum < 255 ? sum : 255;
    }
  }
}

const job_workload job_sobel = {.name = "sobel",
                                .about = "gradient of an image: 2 kernels",
                                .shape = shape,
                                .input = input,
                                .reference = reference};
