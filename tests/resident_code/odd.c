// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose work-groups do not fill whole warps, with what is particular about them in a larger block.
#include <weir/kernel.h>

WEIR_CONSTANT int32_t offsets[3] = {5, -3, 11}; // as in another file, with other contents

// One work-item alone.
WEIR_KERNEL(single, 1, 1, 1, (WEIR_BUFFER(int32_t, data), WEIR_SCALAR(int32_t, step))) {
  WEIR_LOCAL int32_t kept[1];
  WEIR_FOR_EACH_ITEM {
    kept[weir_local_id(0)] = data[weir_group_id(0)];
  }
  WEIR_FOR_EACH_ITEM_NOWAIT {
    data[weir_group_id(0)] = kept[0] + step * weir_global_size(0) + offsets[weir_group_id(0) % 3];
  }
}

// 33 work-items: 31 threads of the second warp are idle. Item loops in loops and conditions, `continue` in all places, values
// that last, local memory that is used again by the next work-group.
WEIR_KERNEL(rounds, 11, 3, 1,
            (WEIR_BUFFER(const int32_t, in), WEIR_BUFFER(int32_t, out), WEIR_SCALAR(int32_t, count))) {
  WEIR_LOCAL int32_t line[33];
  WEIR_PRIVATE(int32_t, sums, 2);
  WEIR_FOR_EACH_ITEM {
    int item = weir_local_id(1) * 11 + weir_local_id(0);
    weir_private(sums, 0) = 0;
    weir_private(sums, 1) = item;
    line[item] = in[weir_group_id(0) * 33 + item];
  }
  for (int round = 0; round < count; round++) {
    if ((round + weir_group_id(0)) % 4 == 3) continue;
    WEIR_FOR_EACH_ITEM {
      int item = weir_local_id(1) * 11 + weir_local_id(0);
      if (item % 5 == round % 5) continue;
      for (int i = 0; i < 4; i++) {
        if (i == 2) continue;
        weir_private(sums, 0) += line[(item + i * round) % 33];
      }
    }
    for (int k = 0; k < 2; k++) {
      WEIR_FOR_EACH_ITEM {
        int item = weir_local_id(1) * 11 + weir_local_id(0);
        if (item % 2 != k) continue;
        line[item] += weir_private(sums, 0) + weir_private(sums, 1) * offsets[k];
      }
    }
  }
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int item = weir_local_id(1) * 11 + weir_local_id(0);
    out[weir_group_id(0) * 33 + item] = line[item] * weir_group_count(0) + weir_local_size(1);
  }
}

typedef struct bounds {
  int32_t low, high;
  float scale[3];
} bounds;

// A value that takes three words, between others.
WEIR_KERNEL(limit, 5, 2, 3,
            (WEIR_SCALAR(int16_t, shift), WEIR_SCALAR(bounds, of), WEIR_BUFFER(const int32_t, in),
             WEIR_SCALAR(int8_t, last), WEIR_BUFFER(int32_t, out))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int x = weir_global_id(0), y = weir_global_id(1), z = weir_global_id(2);
    int item = (z * weir_global_size(1) + y) * weir_global_size(0) + x;
    int value = (in[item] + shift) * (int)of.scale[weir_local_id(2)];
    out[item] = (value < of.low ? of.low : value > of.high ? of.high : value) * last;
  }
}

// More than 12 words.
WEIR_KERNEL(wide, 32, 1, 1,
            (WEIR_SCALAR(bounds, a), WEIR_SCALAR(bounds, b), WEIR_SCALAR(bounds, c), WEIR_SCALAR(bounds, d),
             WEIR_BUFFER(int32_t, out))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    out[weir_global_id(0)] = a.low + b.low + c.low + d.low;
  }
}
