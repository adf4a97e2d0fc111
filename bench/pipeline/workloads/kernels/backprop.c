// SPDX-License-Identifier: Apache-2.0
//
// One step of training a network of many inputs, 16 hidden units and one output: forward through the hidden layer (sums by
// work-group, then one work-group for the rest), errors of the output and of the hidden layer, and new weights of both. A unit
// makes x / (1 + |x|) of its sum x, which needs no function that differs between libraries.
#include <weir/kernel.h>

// Partial sums of the hidden units over `rows` inputs for each work-group.
WEIR_KERNEL(backprop_forward, 16, 16, 1,
            (WEIR_BUFFER(const float, inputs), WEIR_BUFFER(const float, weights), WEIR_BUFFER(float, partial),
             WEIR_SCALAR(int32_t, rows))) {
  WEIR_LOCAL float sums[16][16];
  int first = weir_group_id(0) * rows;
  WEIR_FOR_EACH_ITEM {
    int unit = weir_local_id(0);
    float sum = 0;
    for (int i = first + weir_local_id(1); i < first + rows; i += 16) sum += inputs[i] * weights[i * 16 + unit];
    sums[weir_local_id(1)][unit] = sum;
  }
  for (int apart = 8; apart > 0; apart /= 2) {
    WEIR_FOR_EACH_ITEM {
      if (weir_local_id(1) < apart) {
        sums[weir_local_id(1)][weir_local_id(0)] += sums[weir_local_id(1) + apart][weir_local_id(0)];
      }
    }
  }
  WEIR_FOR_EACH_ITEM_NOWAIT {
    if (weir_local_id(1) == 0) partial[weir_group_id(0) * 16 + weir_local_id(0)] = sums[0][weir_local_id(0)];
  }
}

// One work-group: what the hidden units and the output say, and how wrong they are. `hidden` gets 16 values, `errors` 16 of the
// hidden units and that of the output.
WEIR_KERNEL(backprop_errors, 16, 1, 1,
            (WEIR_BUFFER(const float, partial), WEIR_BUFFER(const float, out_weights), WEIR_BUFFER(const float, wanted),
             WEIR_BUFFER(float, hidden), WEIR_BUFFER(float, errors), WEIR_SCALAR(int32_t, count))) {
  WEIR_LOCAL float values[16];
  WEIR_FOR_EACH_ITEM {
    int unit = weir_local_id(0);
    float sum = 0;
    for (int i = 0; i < count; i++) sum += partial[i * 16 + unit];
    values[unit] = sum / (1 + fabsf(sum));
    hidden[unit] = values[unit];
  }
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int unit = weir_local_id(0);
    float sum = 0;
    for (int i = 0; i < 16; i++) sum += values[i] * out_weights[i];
    float slope = 1 / ((1 + fabsf(sum)) * (1 + fabsf(sum)));
    float error = slope * (wanted[0] - sum / (1 + fabsf(sum)));
    float flat = 1 - fabsf(values[unit]);
    errors[unit] = flat * flat * out_weights[unit] * error;
    if (unit == 0) errors[16] = error;
  }
}

WEIR_KERNEL(backprop_adjust_output, 16, 1, 1,
            (WEIR_BUFFER(const float, hidden), WEIR_BUFFER(const float, errors), WEIR_BUFFER(float, out_weights),
             WEIR_SCALAR(float, rate))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    out_weights[weir_local_id(0)] += rate * errors[16] * hidden[weir_local_id(0)];
  }
}

WEIR_KERNEL(backprop_adjust, 16, 16, 1,
            (WEIR_BUFFER(const float, inputs), WEIR_BUFFER(const float, errors), WEIR_BUFFER(float, weights),
             WEIR_SCALAR(int32_t, rows), WEIR_SCALAR(float, rate))) {
  int first = weir_group_id(0) * rows;
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int unit = weir_local_id(0);
    float step = rate * errors[unit];
    for (int i = first + weir_local_id(1); i < first + rows; i += 16) weights[i * 16 + unit] += step * inputs[i];
  }
}
