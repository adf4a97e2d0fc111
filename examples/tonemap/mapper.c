// SPDX-License-Identifier: Apache-2.0
#include "mapper.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "steps.h"

struct mapper {
  weir_context *context;
  steps_kernels kernels;
  steps steps;
  rows_launcher launchers[STEPS]; // but for STEP_COMMON, which is not cut
  float *staged;                  // a picture as the kernels want it
};

static weir_status complain(weir_status status) {
  if (status != WEIR_OK) fprintf(stderr, "tonemap: %s\n", weir_last_error());
  return status;
}

static weir_status create_launchers(mapper *self, const mapper_options *options) {
  const double *shares = options->share_count > 0 ? options->shares : NULL;
  weir_status status = WEIR_OK;
  for (int i = 0; status == WEIR_OK && i < STEPS; i++) {
    if (i == STEP_COMMON) continue;
    status = rows_initialize(&self->launchers[i], self->context, options->policy, shares, options->resident);
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
  if (status == WEIR_OK) status = steps_create_kernels(self->context, &self->kernels);
  if (status == WEIR_OK) {
    status = steps_initialize(&self->steps, self->context, &self->kernels, options->kind, options->settings,
                              options->width, options->height);
  }
  if (status != WEIR_OK) return complain(status);
  self->staged = calloc(1, weir_buffer_bytes(steps_picture(&self->steps)));
  if (self->staged) return WEIR_OK;
  fprintf(stderr, "tonemap: no memory\n");
  return WEIR_ERROR_OUT_OF_MEMORY;
}

weir_status mapper_create(const mapper_options *options, mapper **out_mapper) {
  mapper *self = calloc(1, sizeof *self);
  *out_mapper = NULL;
  if (!self) {
    fprintf(stderr, "tonemap: no memory\n");
    return WEIR_ERROR_OUT_OF_MEMORY;
  }
  weir_status status = create_parts(self, options);
  if (status == WEIR_OK) *out_mapper = self;
  if (status != WEIR_OK) mapper_release(self);
  return status;
}

void mapper_release(mapper *self) {
  if (!self) return;
  if (self->context) weir_finish(self->context);
  for (int i = 0; i < STEPS; i++) rows_deinitialize(&self->launchers[i]);
  steps_deinitialize(&self->steps);
  steps_release_kernels(&self->kernels);
  weir_context_release(self->context);
  free(self->staged);
  free(self);
}

weir_context *mapper_context(mapper *self) {
  return self->context;
}

uint64_t mapper_stride(const mapper *self) {
  return steps_stride(&self->steps);
}

static weir_status launch(mapper *self, int step) {
  steps_launch launched;
  if (!steps_get(&self->steps, step, &launched)) return WEIR_OK;
  if (step != STEP_COMMON) {
    return rows_launch(&self->launchers[step], launched.kernel, launched.rows, launched.args, launched.arg_count);
  }
  weir_arg args[ROWS_MAX_ARGS];
  for (uint32_t i = 0; i < launched.arg_count; i++) args[i] = launched.args[i].arg;
  const weir_task task = {.kernel = launched.kernel, .args = args, .arg_count = launched.arg_count};
  return weir_submit(self->context, &task, NULL);
}

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

weir_status mapper_map(mapper *self, const picture *in, int32_t x, int32_t y, uint8_t *out_pixels,
                       mapper_report *out_report) {
  steps_stage(&self->steps, in, x, y, self->staged);
  double start = now_ms();
  weir_buffer *from = steps_picture(&self->steps), *to = steps_result(&self->steps);
  weir_status status = weir_copy_in(from, 0, weir_buffer_bytes(from), self->staged, NULL);
  for (int i = 0; status == WEIR_OK && i < STEPS; i++) status = launch(self, i);
  if (status == WEIR_OK) status = weir_copy_out(to, 0, weir_buffer_bytes(to), out_pixels, NULL);
  weir_status finished = weir_finish(self->context); // also when a submission failed: the caller's memory is in use
  if (status == WEIR_OK) status = finished;
  out_report->ms = now_ms() - start;
  if (status == WEIR_OK) {
    rows_launcher *longest = &self->launchers[self->steps.kind == TONE_DURAND ? STEP_FILTER : STEP_RESULTS];
    status = rows_last(longest, &out_report->round);
  }
  return complain(status);
}
