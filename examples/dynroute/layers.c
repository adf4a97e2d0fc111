// SPDX-License-Identifier: Apache-2.0
//
// The layers of the network, for every device. A map is channels * pixels numbers, channel by channel; maps have a
// multiple of 256 of them, and channels come in multiples of 64. Sums are taken in the same order everywhere, so that
// all devices give the same bits.
#include <weir/kernel.h>

// out = in where it is positive, else 0.
WEIR_KERNEL(relu, 256, 1, 1, (WEIR_BUFFER(const float, in), WEIR_BUFFER(float, out))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    float value = in[weir_global_id(0)];
    out[weir_global_id(0)] = value > 0 ? value : 0;
  }
}

// out = a + b.
WEIR_KERNEL(add, 256, 1, 1, (WEIR_BUFFER(const float, a), WEIR_BUFFER(const float, b), WEIR_BUFFER(float, out))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    out[weir_global_id(0)] = a[weir_global_id(0)] + b[weir_global_id(0)];
  }
}

// out = in + sum / count: the end of a cell, where `sum` is that of `count` branches.
WEIR_KERNEL(join, 256, 1, 1,
            (WEIR_BUFFER(const float, in), WEIR_BUFFER(const float, sum), WEIR_BUFFER(float, out),
             WEIR_SCALAR(float, count))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    out[weir_global_id(0)] = in[weir_global_id(0)] + sum[weir_global_id(0)] / count;
  }
}

// Convolution of each channel by itself with 3 x 3 weights, zeros around it. A work-group makes 32 x 8 pixels of one
// channel (z) from 34 x 10, which it keeps in local memory.
WEIR_KERNEL(depthwise, 32, 8, 1,
            (WEIR_BUFFER(const float, in), WEIR_BUFFER(const float, weights), WEIR_BUFFER(float, out),
             WEIR_SCALAR(int32_t, size))) {
  WEIR_LOCAL float pixels[10][34];
  int start = weir_group_id(2) * size * size, left = weir_group_id(0) * 32 - 1, top = weir_group_id(1) * 8 - 1;
  WEIR_GLOBAL const float *w = weights + weir_group_id(2) * 9;
  WEIR_FOR_EACH_ITEM {
    for (int row = weir_local_id(1); row < 10; row += 8) {
      for (int column = weir_local_id(0); column < 34; column += 32) {
        int x = left + column, y = top + row;
        bool inside = x >= 0 && x < size && y >= 0 && y < size;
        pixels[row][column] = inside ? in[start + y * size + x] : 0;
      }
    }
  }
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int x = weir_global_id(0), y = weir_global_id(1), column = weir_local_id(0), row = weir_local_id(1);
    float sum = 0;
    for (int dy = 0; dy < 3; dy++) {
      for (int dx = 0; dx < 3; dx++) sum += w[dy * 3 + dx] * pixels[row + dy][column + dx];
    }
    if (x < size && y < size) out[start + y * size + x] = sum;
  }
}

// Each pixel's channels times a matrix, then scaled and shifted channel by channel. A work-group makes 32 channels (y) of
// 32 pixels (x), 4 channels a work-item; the product goes in steps of 16 input channels through local memory.
WEIR_KERNEL(pointwise, 32, 8, 1,
            (WEIR_BUFFER(const float, in), WEIR_BUFFER(const float, weights), WEIR_BUFFER(const float, scale_shift),
             WEIR_BUFFER(float, out), WEIR_SCALAR(int32_t, pixels), WEIR_SCALAR(int32_t, in_channels),
             WEIR_SCALAR(int32_t, out_channels))) {
  WEIR_LOCAL float values[16][32];
  WEIR_LOCAL float factors[16][33];
  WEIR_PRIVATE(float, sums, 4);
  int first_pixel = weir_group_id(0) * 32, first_channel = weir_group_id(1) * 32;
  WEIR_FOR_EACH_ITEM_NOWAIT {
    for (int i = 0; i < 4; i++) weir_private(sums, i) = 0;
  }
  for (int step = 0; step < in_channels; step += 16) {
    WEIR_FOR_EACH_ITEM {
      int pixel = first_pixel + weir_local_id(0);
      for (int k = weir_local_id(1); k < 16; k += 8) {
        bool inside = step + k < in_channels && pixel < pixels;
        values[k][weir_local_id(0)] = inside ? in[(step + k) * pixels + pixel] : 0;
      }
      int item = weir_local_id(1) * 32 + weir_local_id(0), k = item % 16;
      for (int channel = item / 16; channel < 32; channel += 16) {
        bool inside = step + k < in_channels;
        factors[k][channel] = inside ? weights[(first_channel + channel) * in_channels + step + k] : 0;
      }
    }
    for (int k = 0; k < 16; k++) {
      WEIR_FOR_EACH_ITEM_NOWAIT {
        for (int i = 0; i < 4; i++) {
          weir_private(sums, i) += factors[k][weir_local_id(1) + 8 * i] * values[k][weir_local_id(0)];
        }
      }
    }
    WEIR_FOR_EACH_ITEM {} // all have read before the next step writes
  }
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int pixel = first_pixel + weir_local_id(0);
    for (int i = 0; i < 4; i++) {
      int channel = first_channel + weir_local_id(1) + 8 * i;
      float value = weir_private(sums, i) * scale_shift[channel] + scale_shift[out_channels + channel];
      if (pixel < pixels) out[channel * pixels + pixel] = value;
    }
  }
}

// Mean of each channel, a work-group for one channel.
WEIR_KERNEL(average, 256, 1, 1,
            (WEIR_BUFFER(const float, in), WEIR_BUFFER(float, means), WEIR_SCALAR(int32_t, pixels))) {
  WEIR_LOCAL float sums[256];
  int start = weir_group_id(0) * pixels;
  WEIR_FOR_EACH_ITEM {
    float sum = 0;
    for (int pixel = weir_local_id(0); pixel < pixels; pixel += 256) sum += in[start + pixel];
    sums[weir_local_id(0)] = sum;
  }
  for (int width = 128; width > 0; width /= 2) {
    WEIR_FOR_EACH_ITEM {
      if (weir_local_id(0) < width) sums[weir_local_id(0)] += sums[weir_local_id(0) + width];
    }
  }
  WEIR_FOR_EACH_ITEM_NOWAIT {
    if (weir_local_id(0) == 0) means[weir_group_id(0)] = sums[0] / (float)pixels;
  }
}

// Value of each gate from the channels' means; one work-group, whose rows (y) are gates.
WEIR_KERNEL(gate, 32, 8, 1,
            (WEIR_BUFFER(const float, means), WEIR_BUFFER(const float, weights), WEIR_BUFFER(float, gates),
             WEIR_SCALAR(int32_t, channels), WEIR_SCALAR(int32_t, gate_count))) {
  WEIR_LOCAL float sums[8][32];
  WEIR_FOR_EACH_ITEM {
    int row = weir_local_id(1);
    if (row >= gate_count) continue;
    float sum = 0;
    for (int channel = weir_local_id(0); channel < channels; channel += 32) {
      sum += weights[row * channels + channel] * means[channel];
    }
    sums[row][weir_local_id(0)] = sum;
  }
  for (int width = 16; width > 0; width /= 2) {
    WEIR_FOR_EACH_ITEM {
      int row = weir_local_id(1), column = weir_local_id(0);
      if (row < gate_count && column < width) sums[row][column] += sums[row][column + width];
    }
  }
  WEIR_FOR_EACH_ITEM_NOWAIT {
    if (weir_local_id(0) == 0 && weir_local_id(1) < gate_count) gates[weir_local_id(1)] = sums[weir_local_id(1)][0];
  }
}
