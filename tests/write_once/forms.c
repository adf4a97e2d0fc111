// SPDX-License-Identifier: Apache-2.0
//
// Kernels for the tests: one for each thing that weir/kernel.h offers.
#include <weir/kernel.h>

#include "shared_types.h"

// Twelve numbers from each work-item: all indexes in all dimensions.
WEIR_KERNEL(indexes, 4, 3, 2, (WEIR_BUFFER(int32_t, out))) {
  WEIR_FOR_EACH_ITEM {
    int row = weir_global_id(2) * weir_global_size(1) + weir_global_id(1);
    int item = row * weir_global_size(0) + weir_global_id(0);
    for (int d = 0; d < 3; d++) {
      int digits = weir_local_id(d) + 10 * weir_group_id(d) + 100 * weir_group_count(d) + 1000 * weir_local_size(d);
      out[item * 3 + d] = digits;
    }
  }
}

// Sum of each work-group's 128 numbers, as a tree in local memory. The numbers are kept privately from loop to loop.
WEIR_KERNEL(reduce, 64, 2, 1, (WEIR_BUFFER(const float, in), WEIR_BUFFER(float, out))) {
  WEIR_LOCAL float sums[128];
  WEIR_PRIVATE(float, mine, 2);
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int item = weir_local_id(1) * 64 + weir_local_id(0);
    weir_private(mine, 0) = in[weir_group_id(0) * 128 + item];
    weir_private(mine, 1) = weir_private(mine, 0) * 0.5f;
  }
  WEIR_FOR_EACH_ITEM {
    int item = weir_local_id(1) * 64 + weir_local_id(0);
    sums[item] = weir_private(mine, 0) - weir_private(mine, 1);
  }
  for (int stride = 64; stride > 0; stride /= 2) {
    WEIR_FOR_EACH_ITEM {
      int item = weir_local_id(1) * 64 + weir_local_id(0);
      if (item < stride) sums[item] += sums[item + stride];
    }
  }
  WEIR_FOR_EACH_ITEM {
    if (weir_local_id(0) == 0 && weir_local_id(1) == 0) out[weir_group_id(0)] = sums[0];
  }
}

// Transposes a matrix by tiles of 16 x 16, the edges smaller.
WEIR_KERNEL(transpose, 16, 16, 1,
            (WEIR_BUFFER(const float, in), WEIR_BUFFER(float, out), WEIR_SCALAR(int32_t, rows),
             WEIR_SCALAR(int32_t, columns))) {
  WEIR_LOCAL float tile[16][17];
  WEIR_FOR_EACH_ITEM {
    int row = weir_global_id(1), column = weir_global_id(0);
    if (row >= rows || column >= columns) continue;
    tile[weir_local_id(1)][weir_local_id(0)] = in[row * columns + column];
  }
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int column = weir_group_id(0) * 16 + weir_local_id(1), row = weir_group_id(1) * 16 + weir_local_id(0);
    if (row < rows && column < columns) out[column * rows + row] = tile[weir_local_id(0)][weir_local_id(1)];
  }
}

// Running sums of 64 numbers, in steps that alternate between two halves of local memory; the loop's bounds are the same
// for the whole work-group.
WEIR_KERNEL(scan, 64, 1, 1, (WEIR_BUFFER(uint32_t, data))) {
  WEIR_LOCAL uint32_t sums[2][64];
  int from = 0;
  WEIR_FOR_EACH_ITEM {
    sums[0][weir_local_id(0)] = data[weir_global_id(0)];
  }
  for (int step = 1; step < weir_local_size(0); step *= 2) {
    WEIR_FOR_EACH_ITEM {
      int item = weir_local_id(0);
      sums[1 - from][item] = sums[from][item];
      if (item < step) continue;
      sums[1 - from][item] += sums[from][item - step];
    }
    from = 1 - from;
  }
  if (weir_group_id(0) != 1) {
    WEIR_FOR_EACH_ITEM_NOWAIT {
      data[weir_global_id(0)] = sums[from][weir_local_id(0)];
    }
  }
}

// Counts numbers by their last three bits, first in local memory; and the least, the greatest and, by compare-and-swap,
// the product modulo 2^32 of all.
WEIR_KERNEL(histogram, 32, 1, 1,
            (WEIR_BUFFER(const uint32_t, in), WEIR_BUFFER(uint32_t, counts), WEIR_BUFFER(int32_t, extremes),
             WEIR_BUFFER(uint32_t, product))) {
  WEIR_LOCAL uint32_t part[8];
  WEIR_FOR_EACH_ITEM {
    if (weir_local_id(0) < 8) part[weir_local_id(0)] = 0;
  }
  WEIR_FOR_EACH_ITEM {
    uint32_t number = in[weir_global_id(0)];
    weir_atomic_add(&part[number % 8], 1u);
    weir_atomic_min(&extremes[0], (int32_t)number);
    weir_atomic_max(&extremes[1], (int32_t)number);
    uint32_t seen = weir_atomic_add(&product[0], 0u), expected;
    do {
      expected = seen;
      seen = weir_atomic_cas(&product[0], expected, expected * (2 * number + 1));
    } while (seen != expected);
  }
  WEIR_FOR_EACH_ITEM {
    int bin = weir_local_id(0);
    if (bin >= 8) continue;
    weir_atomic_add(&counts[bin], part[bin]);
    weir_atomic_min(&counts[8], part[bin]);
    weir_atomic_max(&counts[9], part[bin]);
  }
}

// Adds small whole numbers, whose sums as floats are exact in any order.
WEIR_KERNEL(float_sum, 32, 2, 1, (WEIR_BUFFER(const float, in), WEIR_BUFFER(float, sum))) {
  WEIR_LOCAL float part[1];
  WEIR_FOR_EACH_ITEM {
    if (weir_local_id(0) + weir_local_id(1) == 0) part[0] = 0;
  }
  WEIR_FOR_EACH_ITEM {
    weir_atomic_add_float(&part[0], in[weir_group_id(0) * 64 + weir_local_id(1) * 32 + weir_local_id(0)]);
  }
  WEIR_FOR_EACH_ITEM {
    if (weir_local_id(0) + weir_local_id(1) == 0) weir_atomic_add_float(&sum[0], part[0]);
  }
}

WEIR_CONSTANT float weights[4] = {0.1f, 0.2f, 0.3f, 0.7f};

WEIR_FUNCTION float on_line(line of, float x) {
  return of.slope * x + of.start; // two roundings
}

WEIR_FUNCTION double length(WEIR_GLOBAL const double *vector, int index) {
  double x = vector[2 * index], y = vector[2 * index + 1];
  return sqrt(x * x + y * y);
}

WEIR_FUNCTION float weighted(WEIR_LOCAL_POINTER const float *four) {
  float sum = 0;
  for (int i = 0; i < 4; i++) sum += weights[i] * four[i];
  return sum;
}

// Operations whose results are the same bits everywhere.
WEIR_KERNEL(arithmetic, 64, 1, 1,
            (WEIR_BUFFER(const float, in), WEIR_BUFFER(const double, vectors), WEIR_BUFFER(float, out),
             WEIR_BUFFER(double, lengths), WEIR_SCALAR(line, of))) {
  WEIR_LOCAL float shared[64];
  WEIR_FOR_EACH_ITEM {
    shared[weir_local_id(0)] = in[weir_global_id(0)];
  }
  WEIR_FOR_EACH_ITEM {
    int i = weir_global_id(0);
    if (i >= of.count) continue;
    float x = in[i];
    out[8 * i] = on_line(of, x);
    out[8 * i + 1] = 1 / (x + 3);
    out[8 * i + 2] = sqrtf(fabsf(x));
    out[8 * i + 3] = fmaf(x, x, -0.1f);
    out[8 * i + 4] = fmaxf(x, 0.25f) - fminf(x, 0.75f);
    out[8 * i + 5] = floorf(8 * x) + ceilf(16 * x);
    out[8 * i + 6] = weighted(&shared[weir_local_id(0) / 4 * 4]);
    out[8 * i + 7] = x > 0 ? x : 0;
    lengths[i] = length(vectors, i) / fma(vectors[2 * i], 3.0, 7.0);
  }
}

// Integers of all sizes; as many parameters as there may be.
WEIR_KERNEL(integers, 32, 1, 1,
            (WEIR_BUFFER(int8_t, a), WEIR_BUFFER(uint8_t, b), WEIR_BUFFER(int16_t, c), WEIR_BUFFER(uint16_t, d),
             WEIR_BUFFER(int32_t, e), WEIR_BUFFER(uint32_t, f), WEIR_BUFFER(int64_t, g), WEIR_BUFFER(uint64_t, h),
             WEIR_SCALAR(int64_t, large), WEIR_SCALAR(uint8_t, small), WEIR_SCALAR(double, real),
             WEIR_SCALAR(int16_t, shift))) {
  WEIR_FOR_EACH_ITEM {
    int i = weir_global_id(0);
    a[i] = (int8_t)(i * 3 - shift);
    b[i] = (uint8_t)(i * small);
    c[i] = (int16_t)(i * -1000);
    d[i] = (uint16_t)(i * 2000);
    e[i] = (int32_t)(large >> i) / 3;
    f[i] = (uint32_t)large ^ ((uint32_t)i << shift);
    g[i] = large / (i + 1);
    h[i] = (uint64_t)(real * (i + 1)) << shift;
  }
}

// Alone, so that the test can look whether the compiler fused what it must not.
WEIR_KERNEL(axpy, 128, 1, 1, (WEIR_BUFFER(const float, x), WEIR_BUFFER(float, y), WEIR_SCALAR(float, a))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    y[weir_global_id(0)] = a * x[weir_global_id(0)] + y[weir_global_id(0)];
  }
}
