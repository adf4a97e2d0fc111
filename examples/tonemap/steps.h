// SPDX-License-Identifier: Apache-2.0
//
// The tone mapper as launches: the kernels, the buffers of a picture in work, and what each step reads and writes.
#ifndef TONEMAP_STEPS_H
#define TONEMAP_STEPS_H

#include "reference.h"
#include "rows.h"

// In their order. All but COMMON have a work-group for each row.
enum { STEP_SUMMARIES, STEP_FILTER, STEP_COMMON, STEP_RESULTS, STEPS };

enum { STEPS_KERNELS = 6, STEPS_BUFFERS = 8 };

typedef struct steps_kernels {
  weir_kernel *all[STEPS_KERNELS];
} steps_kernels;

// Errors: as weir_kernel_create_from.
weir_status steps_create_kernels(weir_context *context, steps_kernels *out_kernels);
void steps_release_kernels(steps_kernels *kernels);

// A picture in work. Must stay where it is.
typedef struct steps {
  tone_operator kind;
  tone_settings settings;
  tone_shape shape;
  const steps_kernels *kernels;
  weir_buffer *buffers[STEPS_BUFFERS];
  float near[2 * TONE_MAX_RADIUS + 1];
} steps;

// Creates the buffers for pictures of a size, and submits what fills those that never change. Errors: as weir_buffer_create and
// weir_copy_in; then there is nothing to deinitialize.
weir_status steps_initialize(steps *self, weir_context *context, const steps_kernels *kernels, tone_operator kind,
                             tone_settings settings, int32_t width, int32_t height);
void steps_deinitialize(steps *self); // all that was submitted is done

// What the first step reads, floats as steps_stage sorts them; what the last one writes, rows of pixels of three bytes.
weir_buffer *steps_picture(const steps *self);
weir_buffer *steps_result(const steps *self);
uint64_t steps_stride(const steps *self); // bytes from one row of the result to the next

// Sorts the numbers of a rectangle of a picture, which must be inside of it, into planes. `out_staged` has room for what
// steps_picture holds; columns that pad its rows are left as they are.
void steps_stage(const steps *self, const picture *in, int32_t left, int32_t top, float *out_staged);

// A launch. Valid as long as the steps.
typedef struct steps_launch {
  const char *name;
  weir_kernel *kernel;
  uint32_t rows; // work-groups
  rows_arg args[ROWS_MAX_ARGS];
  uint32_t arg_count;
} steps_launch;

// False: the operator has no such step.
bool steps_get(const steps *self, int step, steps_launch *out_launch);

#endif // TONEMAP_STEPS_H
