// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the tone mapper, for every device. A work-group handles one row, in steps of TONE_ITEMS pixels. No kernel
// knows where in the picture its rows are, so that a launch can be cut between any two rows.
//
// - A row of a picture is three planes of `pitch` numbers: red, green, blue, all from 0 to 65504.
// - A row of logarithms has `radius` numbers more at either end, and the picture `radius` rows more above and below. All
//   that is not in the picture holds 2^30, to which the filter gives no weight: it needs no conditions at borders.
// - A row of the result is `pitch` pixels of three bytes.
//
// Operators: E. Reinhard, M. Stark, P. Shirley, J. Ferwerda, "Photographic Tone Reproduction for Digital Images", SIGGRAPH
// 2002 (equations 1 to 4); F. Durand and J. Dorsey, "Fast Bilateral Filtering for the Display of High-Dynamic-Range Images",
// SIGGRAPH 2002, here with Tukey's biweight for differences of luminance and without the piecewise approximation.
#include <weir/kernel.h>

#include "tone.h"

// log2 of the luminances of a row, their sum and the greatest.
WEIR_KERNEL(log_luminance, TONE_ITEMS, 1, 1,
            (WEIR_BUFFER(const float, picture), WEIR_BUFFER(float, logs), WEIR_BUFFER(tone_log_row, summary),
             WEIR_SCALAR(tone_shape, shape))) {
  WEIR_LOCAL int32_t sums[TONE_ITEMS];
  WEIR_LOCAL float greatest[TONE_ITEMS];
  int pitch = shape.pitch, length = pitch + 2 * shape.radius;
  WEIR_GLOBAL const float *row = picture + weir_group_id(1) * 3 * pitch;
  WEIR_GLOBAL float *out = logs + weir_group_id(1) * length;
  WEIR_FOR_EACH_ITEM_NOWAIT {
    sums[weir_local_id(0)] = 0;
    greatest[weir_local_id(0)] = -128.0f;
    if (weir_local_id(0) < shape.radius) {
      out[weir_local_id(0)] = tone_of_bits(TONE_FAR_BITS);
      out[length - 1 - weir_local_id(0)] = tone_of_bits(TONE_FAR_BITS);
    }
  }
  for (int start = 0; start < pitch; start += TONE_ITEMS) {
    WEIR_FOR_EACH_ITEM_NOWAIT {
      int x = start + weir_local_id(0);
      float logarithm = tone_log2(tone_luminance(row[x], row[pitch + x], row[2 * pitch + x]));
      bool inside = x < shape.width;
      out[shape.radius + x] = inside ? logarithm : tone_of_bits(TONE_FAR_BITS);
      sums[weir_local_id(0)] += inside ? tone_steps(logarithm) : 0;
      greatest[weir_local_id(0)] =
          inside && logarithm > greatest[weir_local_id(0)] ? logarithm : greatest[weir_local_id(0)];
    }
  }
  WEIR_FOR_EACH_ITEM {}
  WEIR_FOR_EACH_ITEM_NOWAIT {
    if (weir_local_id(0) == 0) {
      tone_log_row all;
      all.sum = 0;
      all.greatest = -128.0f;
      for (int i = 0; i < TONE_ITEMS; i++) {
        all.sum += sums[i];
        all.greatest = greatest[i] > all.greatest ? greatest[i] : all.greatest;
      }
      summary[weir_group_id(1)] = all;
    }
  }
}

// What Reinhard's operator needs to know of the whole picture. One work-group.
WEIR_KERNEL(exposure, 1, 1, 1,
            (WEIR_BUFFER(const tone_log_row, summary), WEIR_BUFFER(tone_common, common), WEIR_SCALAR(tone_shape, shape),
             WEIR_SCALAR(tone_settings, settings))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int64_t sum = 0;
    float greatest = -128.0f;
    for (int y = 0; y < shape.rows; y++) {
      sum += summary[y].sum;
      greatest = summary[y].greatest > greatest ? summary[y].greatest : greatest;
    }
    common[0] = tone_expose(sum, greatest, shape.width * shape.rows, settings);
  }
}

// The base layer: the bilateral filter of a row of logarithms, with the sums of its numbers and of their squares. `logs` starts
// `radius` rows above; `near` has a Gaussian's weights for the distances -radius to radius.
WEIR_KERNEL(bilateral, TONE_ITEMS, 1, 1,
            (WEIR_BUFFER(const float, logs), WEIR_BUFFER(const float, near), WEIR_BUFFER(float, base),
             WEIR_BUFFER(tone_base_row, summary), WEIR_SCALAR(tone_shape, shape), WEIR_SCALAR(float, range))) {
  WEIR_PRIVATE(float, sum, 1);
  WEIR_PRIVATE(float, weights, 1);
  WEIR_PRIVATE(float, middle, 1);
  WEIR_LOCAL int64_t sums[TONE_ITEMS];
  WEIR_LOCAL int64_t squares[TONE_ITEMS];
  int pitch = shape.pitch, radius = shape.radius, length = pitch + 2 * radius;
  WEIR_GLOBAL const float *window = logs + weir_group_id(1) * length;
  WEIR_GLOBAL float *out = base + weir_group_id(1) * pitch;
  WEIR_FOR_EACH_ITEM_NOWAIT {
    sums[weir_local_id(0)] = 0;
    squares[weir_local_id(0)] = 0;
  }
  for (int start = 0; start < pitch; start += TONE_ITEMS) {
    WEIR_FOR_EACH_ITEM_NOWAIT {
      weir_private(sum, 0) = 0.0f;
      weir_private(weights, 0) = 0.0f;
      weir_private(middle, 0) = window[radius * length + radius + start + weir_local_id(0)];
    }
    for (int dy = 0; dy <= 2 * radius; dy++) {
      for (int dx = 0; dx <= 2 * radius; dx++) {
        float nearness = near[dy] * near[dx];
        WEIR_GLOBAL const float *shifted = window + dy * length + dx + start;
        WEIR_FOR_EACH_ITEM_NOWAIT {
          float neighbour = shifted[weir_local_id(0)];
          float weight = nearness * tone_weight(neighbour - weir_private(middle, 0), range);
          weir_private(sum, 0) += weight * neighbour;
          weir_private(weights, 0) += weight;
        }
      }
    }
    WEIR_FOR_EACH_ITEM_NOWAIT {
      int x = start + weir_local_id(0);
      float value = weir_private(sum, 0) * tone_reciprocal(weir_private(weights, 0));
      int64_t steps = x < shape.width ? tone_steps(value) : 0;
      out[x] = value;
      sums[weir_local_id(0)] += steps;
      squares[weir_local_id(0)] += steps * steps;
    }
  }
  WEIR_FOR_EACH_ITEM {}
  WEIR_FOR_EACH_ITEM_NOWAIT {
    if (weir_local_id(0) == 0) {
      tone_base_row all;
      all.sum = 0;
      all.squares = 0;
      for (int i = 0; i < TONE_ITEMS; i++) {
        all.sum += sums[i];
        all.squares += squares[i];
      }
      summary[weir_group_id(1)] = all;
    }
  }
}

// What Durand and Dorsey's operator needs to know of the whole base layer. One work-group.
WEIR_KERNEL(compression, 1, 1, 1,
            (WEIR_BUFFER(const tone_base_row, summary), WEIR_BUFFER(tone_common, common),
             WEIR_SCALAR(tone_shape, shape), WEIR_SCALAR(tone_settings, settings))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int64_t sum = 0, squares = 0;
    for (int y = 0; y < shape.rows; y++) {
      sum += summary[y].sum;
      squares += summary[y].squares;
    }
    common[0] = tone_compress(sum, squares, shape.width * shape.rows, settings);
  }
}

// The result of Reinhard's operator.
WEIR_KERNEL(reinhard, TONE_ITEMS, 1, 1,
            (WEIR_BUFFER(const float, picture), WEIR_BUFFER(const tone_common, common), WEIR_BUFFER(uint8_t, out),
             WEIR_SCALAR(tone_shape, shape))) {
  int pitch = shape.pitch;
  WEIR_GLOBAL const float *row = picture + weir_group_id(1) * 3 * pitch;
  WEIR_GLOBAL uint8_t *pixels = out + weir_group_id(1) * 3 * pitch;
  for (int start = 0; start < pitch; start += TONE_ITEMS) {
    WEIR_FOR_EACH_ITEM_NOWAIT {
      int x = start + weir_local_id(0);
      float red = row[x], green = row[pitch + x], blue = row[2 * pitch + x];
      float factor = tone_reinhard(tone_luminance(red, green, blue), common[0]);
      pixels[3 * x] = (uint8_t)tone_srgb(red * factor);
      pixels[3 * x + 1] = (uint8_t)tone_srgb(green * factor);
      pixels[3 * x + 2] = (uint8_t)tone_srgb(blue * factor);
    }
  }
}

// The result of Durand and Dorsey's operator.
WEIR_KERNEL(durand, TONE_ITEMS, 1, 1,
            (WEIR_BUFFER(const float, picture), WEIR_BUFFER(const float, base), WEIR_BUFFER(const tone_common, common),
             WEIR_BUFFER(uint8_t, out), WEIR_SCALAR(tone_shape, shape))) {
  int pitch = shape.pitch;
  WEIR_GLOBAL const float *row = picture + weir_group_id(1) * 3 * pitch;
  WEIR_GLOBAL const float *base_row = base + weir_group_id(1) * pitch;
  WEIR_GLOBAL uint8_t *pixels = out + weir_group_id(1) * 3 * pitch;
  for (int start = 0; start < pitch; start += TONE_ITEMS) {
    WEIR_FOR_EACH_ITEM_NOWAIT {
      int x = start + weir_local_id(0);
      float red = row[x], green = row[pitch + x], blue = row[2 * pitch + x];
      float factor = tone_durand(base_row[x], common[0]);
      pixels[3 * x] = (uint8_t)tone_srgb(red * factor);
      pixels[3 * x + 1] = (uint8_t)tone_srgb(green * factor);
      pixels[3 * x + 2] = (uint8_t)tone_srgb(blue * factor);
    }
  }
}
