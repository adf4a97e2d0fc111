// SPDX-License-Identifier: Apache-2.0
#include "steps.h"

#include <string.h>

#include "operators.kernels.h"

enum { KERNEL_LOGS, KERNEL_EXPOSURE, KERNEL_BILATERAL, KERNEL_COMPRESSION, KERNEL_REINHARD, KERNEL_DURAND };
enum {
  BUFFER_PICTURE,
  BUFFER_LOGS,
  BUFFER_LOG_ROWS,
  BUFFER_NEAR,
  BUFFER_BASE,
  BUFFER_BASE_ROWS,
  BUFFER_COMMON,
  BUFFER_OUT
};

static uint64_t row_bytes(const steps *self, int buffer) {
  uint64_t pitch = (uint64_t)self->shape.pitch, radius = (uint64_t)self->shape.radius;
  switch (buffer) {
  case BUFFER_PICTURE:
    return pitch * 3 * sizeof(float);
  case BUFFER_LOGS:
    return (pitch + 2 * radius) * sizeof(float);
  case BUFFER_LOG_ROWS:
    return sizeof(tone_log_row);
  case BUFFER_BASE:
    return pitch * sizeof(float);
  case BUFFER_BASE_ROWS:
    return sizeof(tone_base_row);
  case BUFFER_OUT:
    return pitch * 3;
  default:
    return 0;
  }
}

static uint64_t buffer_bytes(const steps *self, int buffer) {
  uint64_t rows = (uint64_t)self->shape.rows, radius = (uint64_t)self->shape.radius;
  if (buffer == BUFFER_NEAR) return sizeof self->near;
  if (buffer == BUFFER_COMMON) return sizeof(tone_common);
  if (buffer == BUFFER_LOGS) rows += 2 * radius;
  return rows * row_bytes(self, buffer);
}

weir_status steps_create_kernels(weir_context *context, steps_kernels *out_kernels) {
  static const weir_kernel_code *const codes[STEPS_KERNELS] = {&log_luminance, &exposure, &bilateral,
                                                               &compression,   &reinhard, &durand};
  *out_kernels = (steps_kernels){{NULL}};
  weir_status status = WEIR_OK;
  for (int i = 0; status == WEIR_OK && i < STEPS_KERNELS; i++) {
    status = weir_kernel_create_from(context, codes[i], &out_kernels->all[i]);
  }
  return status;
}

void steps_release_kernels(steps_kernels *kernels) {
  for (int i = 0; i < STEPS_KERNELS; i++) weir_kernel_release(kernels->all[i]);
  *kernels = (steps_kernels){{NULL}};
}

// The weights, and the rows of logarithms beyond the picture.
static weir_status fill_buffers(steps *self, weir_context *context) {
  tone_gaussian(self->shape.radius, self->near);
  weir_status status = weir_copy_in(self->buffers[BUFFER_NEAR], 0, sizeof self->near, self->near, NULL);
  uint64_t beyond = (uint64_t)self->shape.radius * row_bytes(self, BUFFER_LOGS);
  weir_buffer *logs = self->buffers[BUFFER_LOGS];
  if (status == WEIR_OK && beyond > 0) status = weir_fill(logs, 0, beyond, TONE_FAR_BITS, NULL);
  if (status == WEIR_OK && beyond > 0) {
    status = weir_fill(logs, weir_buffer_bytes(logs) - beyond, beyond, TONE_FAR_BITS, NULL);
  }
  if (status != WEIR_OK) weir_finish(context); // the weights are in use
  return status;
}

weir_status steps_initialize(steps *self, weir_context *context, const steps_kernels *kernels, tone_operator kind,
                             tone_settings settings, int32_t width, int32_t height) {
  int32_t pitch = (width + TONE_ITEMS - 1) / TONE_ITEMS * TONE_ITEMS;
  *self =
      (steps){.kind = kind, .settings = settings, .shape = {width, pitch, height, settings.radius}, .kernels = kernels};
  weir_status status = WEIR_OK;
  for (int i = 0; status == WEIR_OK && i < STEPS_BUFFERS; i++) {
    status = weir_buffer_create(context, buffer_bytes(self, i), &self->buffers[i]);
  }
  if (status == WEIR_OK) status = fill_buffers(self, context);
  if (status != WEIR_OK) steps_deinitialize(self);
  return status;
}

void steps_deinitialize(steps *self) {
  for (int i = 0; i < STEPS_BUFFERS; i++) weir_buffer_release(self->buffers[i]);
  memset(self->buffers, 0, sizeof self->buffers);
}

weir_buffer *steps_picture(const steps *self) {
  return self->buffers[BUFFER_PICTURE];
}

weir_buffer *steps_result(const steps *self) {
  return self->buffers[BUFFER_OUT];
}

uint64_t steps_stride(const steps *self) {
  return row_bytes(self, BUFFER_OUT);
}

void steps_stage(const steps *self, const picture *in, int32_t left, int32_t top, float *out_staged) {
  size_t pitch = (size_t)self->shape.pitch;
  for (int32_t y = 0; y < self->shape.rows; y++) {
    const float *from = in->numbers + 3 * ((size_t)(top + y) * (size_t)in->width + (size_t)left);
    float *to = out_staged + (size_t)y * 3 * pitch;
    for (size_t x = 0; x < (size_t)self->shape.width; x++) {
      for (size_t plane = 0; plane < 3; plane++) to[plane * pitch + x] = from[3 * x + plane];
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Launches: buffers of which each row has its own, with a halo; buffers and values that all rows share

static void add(steps_launch *launch, weir_arg arg, uint64_t bytes, uint32_t halo) {
  launch->args[launch->arg_count++] = (rows_arg){arg, bytes, halo};
}

static void reads_rows(const steps *self, steps_launch *launch, int buffer, uint32_t halo) {
  add(launch, weir_reads(self->buffers[buffer]), row_bytes(self, buffer), halo);
}

static void writes_rows(const steps *self, steps_launch *launch, int buffer) {
  add(launch, weir_writes(self->buffers[buffer]), row_bytes(self, buffer), 0);
}

static void has_value(steps_launch *launch, const void *value, uint64_t bytes) {
  add(launch, weir_value(value, bytes), 0, 0);
}

static void get_summaries(const steps *self, steps_launch *launch) {
  // The rows of logarithms that are in the picture.
  weir_arg logs = weir_writes(self->buffers[BUFFER_LOGS]);
  logs.offset = (uint64_t)self->shape.radius * row_bytes(self, BUFFER_LOGS);
  logs.bytes = (uint64_t)self->shape.rows * row_bytes(self, BUFFER_LOGS);
  reads_rows(self, launch, BUFFER_PICTURE, 0);
  add(launch, logs, row_bytes(self, BUFFER_LOGS), 0);
  writes_rows(self, launch, BUFFER_LOG_ROWS);
  has_value(launch, &self->shape, sizeof self->shape);
}

static void get_filter(const steps *self, steps_launch *launch) {
  reads_rows(self, launch, BUFFER_LOGS, 2 * (uint32_t)self->shape.radius);
  add(launch, weir_reads(self->buffers[BUFFER_NEAR]), 0, 0);
  writes_rows(self, launch, BUFFER_BASE);
  writes_rows(self, launch, BUFFER_BASE_ROWS);
  has_value(launch, &self->shape, sizeof self->shape);
  has_value(launch, &self->settings.range, sizeof self->settings.range);
}

// What all pixels have in common, from the summaries of all rows.
static void get_common(const steps *self, steps_launch *launch) {
  bool global = self->kind == TONE_REINHARD;
  add(launch, weir_reads(self->buffers[global ? BUFFER_LOG_ROWS : BUFFER_BASE_ROWS]), 0, 0);
  add(launch, weir_writes(self->buffers[BUFFER_COMMON]), 0, 0);
  has_value(launch, &self->shape, sizeof self->shape);
  has_value(launch, &self->settings, sizeof self->settings);
  launch->rows = 1;
}

static void get_results(const steps *self, steps_launch *launch) {
  reads_rows(self, launch, BUFFER_PICTURE, 0);
  if (self->kind == TONE_DURAND) reads_rows(self, launch, BUFFER_BASE, 0);
  add(launch, weir_reads(self->buffers[BUFFER_COMMON]), 0, 0);
  writes_rows(self, launch, BUFFER_OUT);
  has_value(launch, &self->shape, sizeof self->shape);
}

bool steps_get(const steps *self, int step, steps_launch *out_launch) {
  static void (*const get[STEPS])(const steps *, steps_launch *) = {get_summaries, get_filter, get_common, get_results};
  static const int kernels[2][STEPS] = {
      [TONE_REINHARD] = {KERNEL_LOGS, -1, KERNEL_EXPOSURE, KERNEL_REINHARD},
      [TONE_DURAND] = {KERNEL_LOGS, KERNEL_BILATERAL, KERNEL_COMPRESSION, KERNEL_DURAND}};
  int kernel = kernels[self->kind][step];
  if (kernel < 0) return false;
  static const char *const names[STEPS] = {"logarithms", "filter", "common", "result"};
  *out_launch =
      (steps_launch){.name = names[step], .kernel = self->kernels->all[kernel], .rows = (uint32_t)self->shape.rows};
  get[step](self, out_launch);
  return true;
}
