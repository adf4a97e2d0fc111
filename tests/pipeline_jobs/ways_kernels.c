// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a small job, on integers.
#include <weir/kernel.h>

WEIR_KERNEL(ways_scale, 64, 1, 1,
            (WEIR_BUFFER(const int32_t, in), WEIR_BUFFER(int32_t, out), WEIR_SCALAR(int32_t, factor),
             WEIR_SCALAR(int32_t, count))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int32_t i = weir_global_id(0);
    if (i < count) out[i] = (in[i] * factor + i) % 9973;
  }
}

WEIR_KERNEL(ways_mix, 64, 1, 1,
            (WEIR_BUFFER(const int32_t, in), WEIR_BUFFER(const int32_t, table), WEIR_BUFFER(int32_t, out),
             WEIR_SCALAR(int32_t, count))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int32_t i = weir_global_id(0);
    if (i < count) out[i] = in[i] ^ table[i * 7 % 16];
  }
}

WEIR_KERNEL(ways_join, 64, 1, 1,
            (WEIR_BUFFER(const int32_t, a), WEIR_BUFFER(const int32_t, b), WEIR_BUFFER(int32_t, out),
             WEIR_SCALAR(int32_t, count))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int32_t i = weir_global_id(0);
    if (i < count) out[i] = a[i] - b[(i + 100) % count];
  }
}

WEIR_KERNEL(ways_bump, 64, 1, 1,
            (WEIR_BUFFER(int32_t, a), WEIR_BUFFER(const int32_t, b), WEIR_SCALAR(int32_t, count))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int32_t i = weir_global_id(0);
    if (i < count) a[i] += b[count - 1 - i];
  }
}

// One work-group, a sum for each work-item.
WEIR_KERNEL(ways_fold, 16, 1, 1,
            (WEIR_BUFFER(const int32_t, a), WEIR_BUFFER(const int32_t, b), WEIR_BUFFER(int32_t, sums),
             WEIR_SCALAR(int32_t, count))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int32_t sum = 0;
    for (int32_t i = weir_local_id(0); i < count; i += 16) sum += a[i] - b[i];
    sums[weir_local_id(0)] = sum;
  }
}
