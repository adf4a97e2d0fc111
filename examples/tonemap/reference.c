// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void tone_gaussian(int32_t radius, float out_weights[2 * TONE_MAX_RADIUS + 1]) {
  double deviation = radius > 0 ? radius / 2.0 : 1;
  for (int32_t i = -radius; i <= radius; i++) {
    out_weights[i + radius] = (float)exp(-(double)(i * i) / (2 * deviation * deviation));
  }
}

static const float *pixel(const picture *in, tone_crop crop, int32_t x, int32_t y) {
  return in->numbers + 3 * ((size_t)(crop.y + y) * (size_t)in->width + (size_t)(crop.x + x));
}

static void scale_pixel(const float *from, float factor, uint8_t *to) {
  for (int i = 0; i < 3; i++) to[i] = (uint8_t)tone_srgb(from[i] * factor);
}

static void map_reinhard(const picture *in, tone_crop crop, tone_settings settings, const float *logs, uint8_t *out) {
  int64_t sum = 0;
  float greatest = -128;
  for (int64_t i = 0; i < (int64_t)crop.width * crop.height; i++) {
    sum += tone_steps(logs[i]);
    if (logs[i] > greatest) greatest = logs[i];
  }
  tone_common common = tone_expose(sum, greatest, crop.width * crop.height, settings);
  for (int32_t y = 0; y < crop.height; y++) {
    for (int32_t x = 0; x < crop.width; x++, out += 3) {
      const float *from = pixel(in, crop, x, y);
      scale_pixel(from, tone_reinhard(tone_luminance(from[0], from[1], from[2]), common), out);
    }
  }
}

// The bilateral filter at one pixel.
static float base_at(const float *logs, tone_crop crop, int32_t x, int32_t y, const float *near,
                     tone_settings settings) {
  int32_t radius = settings.radius;
  float middle = logs[(int64_t)y * crop.width + x], sum = 0, weights = 0;
  for (int32_t dy = -radius; dy <= radius; dy++) {
    for (int32_t dx = -radius; dx <= radius; dx++) {
      if (x + dx < 0 || x + dx >= crop.width || y + dy < 0 || y + dy >= crop.height) continue;
      float neighbour = logs[(int64_t)(y + dy) * crop.width + x + dx];
      float weight = near[dy + radius] * near[dx + radius] * tone_weight(neighbour - middle, settings.range);
      sum += weight * neighbour;
      weights += weight;
    }
  }
  return sum * tone_reciprocal(weights);
}

static void map_durand(const picture *in, tone_crop crop, tone_settings settings, const float *logs, float *base,
                       uint8_t *out) {
  float near[2 * TONE_MAX_RADIUS + 1];
  int64_t sum = 0, squares = 0;
  tone_gaussian(settings.radius, near);
  for (int32_t y = 0; y < crop.height; y++) {
    for (int32_t x = 0; x < crop.width; x++) {
      float value = base_at(logs, crop, x, y, near, settings);
      base[(int64_t)y * crop.width + x] = value;
      int64_t steps = tone_steps(value);
      sum += steps;
      squares += steps * steps;
    }
  }
  tone_common common = tone_compress(sum, squares, crop.width * crop.height, settings);
  for (int32_t y = 0; y < crop.height; y++) {
    for (int32_t x = 0; x < crop.width; x++, out += 3) {
      scale_pixel(pixel(in, crop, x, y), tone_durand(base[(int64_t)y * crop.width + x], common), out);
    }
  }
}

bool reference_map(const picture *in, tone_crop crop, tone_operator kind, tone_settings settings, uint8_t *out_pixels) {
  size_t pixels = (size_t)crop.width * (size_t)crop.height;
  float *logs = malloc(pixels * sizeof(float)), *base = malloc(pixels * sizeof(float));
  if (logs && base) {
    for (int32_t y = 0; y < crop.height; y++) {
      for (int32_t x = 0; x < crop.width; x++) {
        const float *from = pixel(in, crop, x, y);
        logs[(int64_t)y * crop.width + x] = tone_log2(tone_luminance(from[0], from[1], from[2]));
      }
    }
    if (kind == TONE_REINHARD) map_reinhard(in, crop, settings, logs, out_pixels);
    if (kind == TONE_DURAND) map_durand(in, crop, settings, logs, base, out_pixels);
  } else {
    fprintf(stderr, "tonemap: no memory\n");
  }
  bool good = logs && base;
  free(logs);
  free(base);
  return good;
}
