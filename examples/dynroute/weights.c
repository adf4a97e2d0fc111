// SPDX-License-Identifier: Apache-2.0
#include "weights.h"

#include <math.h>
#include <stdlib.h>

typedef struct maker {
  weir_context *context;
  uint64_t random;
  weir_status status; // of the first failure
} maker;

float random_number(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (float)(uint32_t)(*state >> 40) / (float)(1u << 23) - 1;
}

// A buffer of `count` random numbers from mean - range to mean + range, then `more_count` of them around 0.
static weir_buffer *make(maker *self, const char *label, int count, float mean, float range, int more_count) {
  weir_buffer *buffer = NULL;
  uint64_t bytes = (uint64_t)(count + more_count) * sizeof(float);
  float *numbers = malloc(bytes);
  if (!numbers && self->status == WEIR_OK) self->status = WEIR_ERROR_OUT_OF_MEMORY;
  if (self->status == WEIR_OK) self->status = weir_buffer_create(self->context, bytes, &buffer);
  if (self->status == WEIR_OK) {
    weir_buffer_set_label(buffer, label);
    for (int i = 0; i < count + more_count; i++) {
      numbers[i] = (i < count ? mean : 0) + range * random_number(&self->random);
    }
    self->status = weir_copy_in(buffer, 0, bytes, numbers, NULL);
  }
  if (self->status == WEIR_OK) self->status = weir_finish(self->context);
  free(numbers);
  return buffer;
}

static void make_cell(maker *self, const network_shape *shape, int index, cell_weights *out_cell) {
  int channels = shape->channels;
  // Sums of `n` products with weights of this range keep the size of what they sum.
  float pointwise_range = sqrtf(6.0f / (float)channels), depthwise_range = sqrtf(3.0f / 9);
  out_cell->branch_count = index % 3 == 0 ? 4 : NETWORK_MAX_BRANCHES;
  out_cell->gate = make(self, "gate weights", out_cell->branch_count * channels, 0, 1, 0);
  for (int i = 0; i < out_cell->branch_count; i++) {
    branch_weights *branch = &out_cell->branches[i];
    branch->depth = i % 2 == 1 ? 2 : 1;
    for (int k = 0; k < branch->depth; k++) {
      branch->depthwise[k] = make(self, "depthwise weights", channels * 9, 0, depthwise_range, 0);
      branch->pointwise[k] = make(self, "pointwise weights", channels * channels, 0, pointwise_range, 0);
      branch->scale_shift[k] = make(self, "scale and shift", channels, 1, 0.2f, channels);
    }
  }
}

weir_status network_weights_create(weir_context *context, const network_shape *shape, network_weights *out_weights) {
  maker self = {.context = context, .random = shape->seed};
  out_weights->stem = make(&self, "stem weights", shape->channels * NETWORK_IMAGE_CHANNELS, 0, 1, 0);
  out_weights->stem_scale_shift = make(&self, "scale and shift", shape->channels, 1, 0.2f, shape->channels);
  for (int i = 0; i < shape->cells; i++) make_cell(&self, shape, i, &out_weights->cells[i]);
  return self.status;
}
