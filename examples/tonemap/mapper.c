// SPDX-License-Identifier: Apache-2.0
#include "mapper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "operators.kernels.h"

enum { KERNEL_LOGS, KERNEL_EXPOSURE, KERNEL_BILATERAL, KERNEL_COMPRESSION, KERNEL_REINHARD, KERNEL_DURAND, KERNELS };
enum {
  BUFFER_PICTURE,
  BUFFER_LOGS,
  BUFFER_LOG_ROWS,
  BUFFER_NEAR,
  BUFFER_BASE,
  BUFFER_BASE_ROWS,
  BUFFER_COMMON,
  BUFFER_OUT,
  BUFFERS
};

struct mapper {
  tone_operator kind;
  tone_settings settings;
  tone_shape shape;
  weir_context *context;
  weir_kernel *kernels[KERNELS];
  weir_buffer *buffers[BUFFERS];
  rows_launcher summaries, filter, results; // of the three launches of a picture
  float *staged;                            // a picture as the kernels want it
  float near[2 * TONE_MAX_RADIUS + 1];
};

static uint64_t row_bytes(const mapper *self, int buffer) {
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

static uint64_t buffer_bytes(const mapper *self, int buffer) {
  uint64_t rows = (uint64_t)self->shape.rows, radius = (uint64_t)self->shape.radius;
  if (buffer == BUFFER_NEAR) return sizeof self->near;
  if (buffer == BUFFER_COMMON) return sizeof(tone_common);
  if (buffer == BUFFER_LOGS) rows += 2 * radius;
  return rows * row_bytes(self, buffer);
}

static weir_status complain(weir_status status) {
  if (status != WEIR_OK) fprintf(stderr, "tonemap: %s\n", weir_last_error());
  return status;
}

// Arguments of launches: a buffer of which each row has its own, with a halo; a buffer or value that all rows share.
static rows_arg reads_rows(const mapper *self, int buffer, uint32_t halo) {
  return (rows_arg){weir_reads(self->buffers[buffer]), row_bytes(self, buffer), halo};
}

static rows_arg writes_rows(const mapper *self, int buffer) {
  return (rows_arg){weir_writes(self->buffers[buffer]), row_bytes(self, buffer), 0};
}

static rows_arg reads_all(const mapper *self, int buffer) {
  return (rows_arg){.arg = weir_reads(self->buffers[buffer])};
}

static rows_arg has_value(const void *value, uint64_t bytes) {
  return (rows_arg){.arg = weir_value(value, bytes)};
}

static weir_status create_kernels(mapper *self) {
  static const weir_kernel_code *const codes[KERNELS] = {&log_luminance, &exposure, &bilateral,
                                                         &compression,   &reinhard, &durand};
  weir_status status = WEIR_OK;
  for (int i = 0; status == WEIR_OK && i < KERNELS; i++) {
    status = weir_kernel_create_from(self->context, codes[i], &self->kernels[i]);
  }
  return status;
}

// Creates the buffers, and fills what never changes: the weights, and the rows of logarithms beyond the picture.
static weir_status create_buffers(mapper *self) {
  weir_status status = WEIR_OK;
  for (int i = 0; status == WEIR_OK && i < BUFFERS; i++) {
    status = weir_buffer_create(self->context, buffer_bytes(self, i), &self->buffers[i]);
  }
  tone_gaussian(self->shape.radius, self->near);
  if (status == WEIR_OK) {
    status = weir_copy_in(self->buffers[BUFFER_NEAR], 0, sizeof self->near, self->near, NULL);
  }
  uint64_t beyond = (uint64_t)self->shape.radius * row_bytes(self, BUFFER_LOGS);
  weir_buffer *logs = self->buffers[BUFFER_LOGS];
  if (status == WEIR_OK && beyond > 0) status = weir_fill(logs, 0, beyond, TONE_FAR_BITS, NULL);
  if (status == WEIR_OK && beyond > 0) {
    status = weir_fill(logs, weir_buffer_bytes(logs) - beyond, beyond, TONE_FAR_BITS, NULL);
  }
  return status;
}

static weir_status create_launchers(mapper *self, const mapper_options *options) {
  rows_launcher *const launchers[] = {&self->summaries, &self->filter, &self->results};
  const double *shares = options->share_count > 0 ? options->shares : NULL;
  weir_status status = WEIR_OK;
  for (int i = 0; status == WEIR_OK && i < 3; i++) {
    status = rows_initialize(launchers[i], self->context, options->policy, shares);
  }
  return status;
}

static weir_status create_parts(mapper *self, const mapper_options *options) {
  weir_status status = weir_context_create(&(weir_context_options){.devices = options->devices}, &self->context);
  if (status != WEIR_OK) return complain(status);
  uint32_t devices = weir_context_device_count(self->context);
  if (options->share_count > 0 && (uint32_t)options->share_count != devices) {
    fprintf(stderr, "tonemap: %d shares for %u devices\n", options->share_count, devices);
    return WEIR_ERROR_INVALID_ARGUMENT;
  }
  status = create_launchers(self, options);
  if (status == WEIR_OK) status = create_kernels(self);
  if (status == WEIR_OK) status = create_buffers(self);
  return complain(status);
}

weir_status mapper_create(const mapper_options *options, mapper **out_mapper) {
  weir_status status = WEIR_ERROR_OUT_OF_MEMORY;
  mapper *self = calloc(1, sizeof *self);
  *out_mapper = NULL;
  if (self) {
    int32_t pitch = (options->width + TONE_ITEMS - 1) / TONE_ITEMS * TONE_ITEMS;
    self->kind = options->kind;
    self->settings = options->settings;
    self->shape = (tone_shape){options->width, pitch, options->height, options->settings.radius};
    self->staged = calloc((size_t)options->height, row_bytes(self, BUFFER_PICTURE));
  }
  if (!self || !self->staged)
    fprintf(stderr, "tonemap: no memory\n");
  else
    status = create_parts(self, options);
  if (status == WEIR_OK) *out_mapper = self;
  if (status != WEIR_OK) mapper_release(self);
  return status;
}

void mapper_release(mapper *self) {
  if (!self) return;
  if (self->context) weir_finish(self->context);
  rows_deinitialize(&self->summaries);
  rows_deinitialize(&self->filter);
  rows_deinitialize(&self->results);
  for (int i = 0; i < KERNELS; i++) weir_kernel_release(self->kernels[i]);
  for (int i = 0; i < BUFFERS; i++) weir_buffer_release(self->buffers[i]);
  weir_context_release(self->context);
  free(self->staged);
  free(self);
}

weir_context *mapper_context(mapper *self) {
  return self->context;
}

uint64_t mapper_stride(const mapper *self) {
  return row_bytes(self, BUFFER_OUT);
}

// Sorts the numbers of a rectangle into planes.
static void stage(mapper *self, const picture *in, int32_t left, int32_t top) {
  size_t pitch = (size_t)self->shape.pitch;
  for (int32_t y = 0; y < self->shape.rows; y++) {
    const float *from = in->numbers + 3 * ((size_t)(top + y) * (size_t)in->width + (size_t)left);
    float *to = self->staged + (size_t)y * 3 * pitch;
    for (size_t x = 0; x < (size_t)self->shape.width; x++) {
      for (size_t plane = 0; plane < 3; plane++) to[plane * pitch + x] = from[3 * x + plane];
    }
  }
}

static weir_status launch_summaries(mapper *self) {
  // The rows of logarithms that are in the picture.
  rows_arg logs = writes_rows(self, BUFFER_LOGS);
  logs.arg.offset = (uint64_t)self->shape.radius * logs.row_bytes;
  logs.arg.bytes = (uint64_t)self->shape.rows * logs.row_bytes;
  const rows_arg args[] = {reads_rows(self, BUFFER_PICTURE, 0), logs, writes_rows(self, BUFFER_LOG_ROWS),
                           has_value(&self->shape, sizeof self->shape)};
  return rows_launch(&self->summaries, self->kernels[KERNEL_LOGS], (uint32_t)self->shape.rows, args, 4);
}

static weir_status launch_filter(mapper *self) {
  const rows_arg args[] = {reads_rows(self, BUFFER_LOGS, 2 * (uint32_t)self->shape.radius),
                           reads_all(self, BUFFER_NEAR),
                           writes_rows(self, BUFFER_BASE),
                           writes_rows(self, BUFFER_BASE_ROWS),
                           has_value(&self->shape, sizeof self->shape),
                           has_value(&self->settings.range, sizeof self->settings.range)};
  return rows_launch(&self->filter, self->kernels[KERNEL_BILATERAL], (uint32_t)self->shape.rows, args, 6);
}

// What all pixels have in common, from the summaries of all rows.
static weir_status submit_common(mapper *self) {
  bool global = self->kind == TONE_REINHARD;
  const weir_arg args[] = {weir_reads(self->buffers[global ? BUFFER_LOG_ROWS : BUFFER_BASE_ROWS]),
                           weir_writes(self->buffers[BUFFER_COMMON]), weir_value(&self->shape, sizeof self->shape),
                           weir_value(&self->settings, sizeof self->settings)};
  weir_kernel *kernel = self->kernels[global ? KERNEL_EXPOSURE : KERNEL_COMPRESSION];
  return weir_submit(self->context, &(weir_task){.kernel = kernel, .args = args, .arg_count = 4}, NULL);
}

static weir_status launch_results(mapper *self) {
  rows_arg args[5];
  uint32_t count = 0;
  args[count++] = reads_rows(self, BUFFER_PICTURE, 0);
  if (self->kind == TONE_DURAND) args[count++] = reads_rows(self, BUFFER_BASE, 0);
  args[count++] = reads_all(self, BUFFER_COMMON);
  args[count++] = writes_rows(self, BUFFER_OUT);
  args[count++] = has_value(&self->shape, sizeof self->shape);
  weir_kernel *kernel = self->kernels[self->kind == TONE_DURAND ? KERNEL_DURAND : KERNEL_REINHARD];
  return rows_launch(&self->results, kernel, (uint32_t)self->shape.rows, args, count);
}

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

weir_status mapper_map(mapper *self, const picture *in, int32_t x, int32_t y, uint8_t *out_pixels,
                       mapper_report *out_report) {
  stage(self, in, x, y);
  double start = now_ms();
  weir_buffer *from = self->buffers[BUFFER_PICTURE], *to = self->buffers[BUFFER_OUT];
  weir_status status = weir_copy_in(from, 0, weir_buffer_bytes(from), self->staged, NULL);
  if (status == WEIR_OK) status = launch_summaries(self);
  if (status == WEIR_OK && self->kind == TONE_DURAND) status = launch_filter(self);
  if (status == WEIR_OK) status = submit_common(self);
  if (status == WEIR_OK) status = launch_results(self);
  if (status == WEIR_OK) status = weir_copy_out(to, 0, weir_buffer_bytes(to), out_pixels, NULL);
  weir_status finished = weir_finish(self->context); // also when a submission failed: the caller's memory is in use
  if (status == WEIR_OK) status = finished;
  out_report->ms = now_ms() - start;
  if (status == WEIR_OK) {
    status = rows_last(self->kind == TONE_DURAND ? &self->filter : &self->results, &out_report->round);
  }
  return complain(status);
}
