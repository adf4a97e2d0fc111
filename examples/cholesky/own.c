// SPDX-License-Identifier: Apache-2.0
//
// Tile kernels of our own, for every device. Tiles are stored by columns. Products are added with fma, so that all
// devices give the same bits. The first parameter is the shape, the last one the tile that is updated.
#include <weir/kernel.h>

#include "tile_shape.h"

// C = C - A * B^T. A work-group updates 64 x 64 numbers, a work-item 4 x 4 of them, 16 apart; the product goes in steps of
// 16 columns of A and B through local memory.
WEIR_KERNEL(own_gemm, 16, 16, 1,
            (WEIR_SCALAR(tile_shape, shape), WEIR_BUFFER(const double, a), WEIR_BUFFER(const double, b),
             WEIR_BUFFER(double, c))) {
  WEIR_LOCAL double left[16][64];
  WEIR_LOCAL double right[16][64];
  WEIR_PRIVATE(double, sums, 16);
  int first_row = weir_group_id(0) * 64, first_column = weir_group_id(1) * 64;
  bool wanted = !shape.lower || first_row + 63 >= first_column;
  WEIR_FOR_EACH_ITEM_NOWAIT {
    for (int i = 0; i < 16; i++) weir_private(sums, i) = 0;
  }
  for (int step = 0; wanted && step < shape.inner; step += 16) {
    WEIR_FOR_EACH_ITEM {
      int item = weir_local_id(1) * 16 + weir_local_id(0), row = item % 64;
      for (int k = item / 64; k < 16; k += 4) {
        bool inside = step + k < shape.inner;
        left[k][row] = inside && first_row + row < shape.rows ? a[(step + k) * shape.rows + first_row + row] : 0;
        right[k][row] =
            inside && first_column + row < shape.columns ? b[(step + k) * shape.columns + first_column + row] : 0;
      }
    }
    for (int k = 0; k < 16; k++) {
      WEIR_FOR_EACH_ITEM_NOWAIT {
        int x = weir_local_id(0), y = weir_local_id(1);
        for (int i = 0; i < 16; i++) {
          double sum = weir_private(sums, i);
          weir_private(sums, i) = fma(left[k][x + 16 * (i % 4)], right[k][y + 16 * (i / 4)], sum);
        }
      }
    }
    WEIR_FOR_EACH_ITEM {} // all have read before the next step writes
  }
  WEIR_FOR_EACH_ITEM_NOWAIT {
    for (int i = 0; i < 16; i++) {
      int row = first_row + weir_local_id(0) + 16 * (i % 4), column = first_column + weir_local_id(1) + 16 * (i / 4);
      if (wanted && row < shape.rows && column < shape.columns) c[column * shape.rows + row] -= weir_private(sums, i);
    }
  }
}

// A = A * L^-T, where L is lower triangular. A work-group solves 32 rows, in blocks of 32 columns: takes off what the
// blocks before contribute, then solves column by column.
WEIR_KERNEL(own_trsm, 32, 8, 1,
            (WEIR_SCALAR(tile_shape, shape), WEIR_BUFFER(const double, l), WEIR_BUFFER(double, a))) {
  WEIR_LOCAL double block[32][32];  // of A, by columns
  WEIR_LOCAL double solved[32][32]; // of A, by columns
  WEIR_LOCAL double factor[32][33]; // of L, by columns
  int rows = shape.rows, columns = shape.columns, first_row = weir_group_id(0) * 32;
  for (int first = 0; first < columns; first += 32) {
    WEIR_FOR_EACH_ITEM {
      int row = first_row + weir_local_id(0);
      for (int j = weir_local_id(1); j < 32; j += 8) {
        block[j][weir_local_id(0)] = row < rows && first + j < columns ? a[(first + j) * rows + row] : 0;
      }
    }
    for (int before = 0; before < first; before += 32) {
      WEIR_FOR_EACH_ITEM {
        int x = weir_local_id(0), row = first_row + x;
        for (int k = weir_local_id(1); k < 32; k += 8) {
          solved[k][x] = row < rows ? a[(before + k) * rows + row] : 0;
          factor[k][x] = first + x < columns ? l[(before + k) * columns + first + x] : 0;
        }
      }
      WEIR_FOR_EACH_ITEM {
        int x = weir_local_id(0);
        for (int j = weir_local_id(1); j < 32; j += 8) {
          double sum = block[j][x];
          for (int k = 0; k < 32; k++) sum = fma(-solved[k][x], factor[k][j], sum);
          block[j][x] = sum;
        }
      }
    }
    WEIR_FOR_EACH_ITEM {
      int x = weir_local_id(0);
      for (int k = weir_local_id(1); k < 32; k += 8) {
        bool inside = first + x < columns && first + k < columns;
        factor[k][x] = inside ? l[(first + k) * columns + first + x] : x == k ? 1 : 0;
      }
    }
    for (int k = 0; k < 32; k++) {
      WEIR_FOR_EACH_ITEM {
        if (weir_local_id(1) == 0) block[k][weir_local_id(0)] /= factor[k][k];
      }
      WEIR_FOR_EACH_ITEM {
        int x = weir_local_id(0);
        for (int j = k + 1 + weir_local_id(1); j < 32; j += 8)
          block[j][x] = fma(-block[k][x], factor[k][j], block[j][x]);
      }
    }
    WEIR_FOR_EACH_ITEM {
      int row = first_row + weir_local_id(0);
      for (int j = weir_local_id(1); j < 32; j += 8) {
        if (row < rows && first + j < columns) a[(first + j) * rows + row] = block[j][weir_local_id(0)];
      }
    }
  }
}

// A becomes its lower Cholesky factor; NaN where it is not positive definite. One work-group, which goes through blocks of
// 32 columns: factors the diagonal block, solves the rows below it by 64, and takes their product off what is to the right.
WEIR_KERNEL(own_potrf, 64, 4, 1, (WEIR_SCALAR(tile_shape, shape), WEIR_BUFFER(double, a))) {
  WEIR_LOCAL double diagonal[32][33]; // by columns
  WEIR_LOCAL double below[32][64];    // by columns
  WEIR_LOCAL double beside[32][64];   // by columns
  int n = shape.rows;
  for (int first = 0; first < n; first += 32) {
    WEIR_FOR_EACH_ITEM {
      int x = weir_local_id(0);
      for (int k = weir_local_id(1); k < 32 && x < 32; k += 4) {
        bool inside = first + x < n && first + k < n;
        diagonal[k][x] = inside ? a[(first + k) * n + first + x] : x == k ? 1 : 0;
      }
    }
    for (int k = 0; k < 32; k++) {
      WEIR_FOR_EACH_ITEM {
        if (weir_local_id(0) + weir_local_id(1) == 0) diagonal[k][k] = sqrt(diagonal[k][k]);
      }
      WEIR_FOR_EACH_ITEM {
        int x = weir_local_id(0);
        if (x > k && x < 32 && weir_local_id(1) == 0) diagonal[k][x] /= diagonal[k][k];
      }
      WEIR_FOR_EACH_ITEM {
        int x = weir_local_id(0);
        for (int j = k + 1 + weir_local_id(1); j <= x && x < 32; j += 4) {
          diagonal[j][x] = fma(-diagonal[k][x], diagonal[k][j], diagonal[j][x]);
        }
      }
    }
    WEIR_FOR_EACH_ITEM_NOWAIT {
      int x = weir_local_id(0);
      for (int k = weir_local_id(1); k <= x && x < 32; k += 4) {
        if (first + x < n) a[(first + k) * n + first + x] = diagonal[k][x];
      }
    }
    for (int top = first + 32; top < n; top += 64) {
      WEIR_FOR_EACH_ITEM {
        int x = weir_local_id(0);
        for (int k = weir_local_id(1); k < 32; k += 4) below[k][x] = top + x < n ? a[(first + k) * n + top + x] : 0;
      }
      for (int k = 0; k < 32; k++) {
        WEIR_FOR_EACH_ITEM {
          if (weir_local_id(1) == 0) below[k][weir_local_id(0)] /= diagonal[k][k];
        }
        WEIR_FOR_EACH_ITEM {
          int x = weir_local_id(0);
          for (int j = k + 1 + weir_local_id(1); j < 32; j += 4)
            below[j][x] = fma(-below[k][x], diagonal[k][j], below[j][x]);
        }
      }
      WEIR_FOR_EACH_ITEM {
        int x = weir_local_id(0);
        for (int k = weir_local_id(1); k < 32; k += 4) {
          if (top + x < n) a[(first + k) * n + top + x] = below[k][x];
        }
      }
      // The rows [top, top + 64) are solved, and all above: take off their products.
      for (int left = first + 32; left <= top; left += 64) {
        WEIR_FOR_EACH_ITEM {
          int x = weir_local_id(0);
          for (int k = weir_local_id(1); k < 32; k += 4)
            beside[k][x] = left + x < n ? a[(first + k) * n + left + x] : 0;
        }
        WEIR_FOR_EACH_ITEM {
          int x = weir_local_id(0), row = top + x;
          for (int j = weir_local_id(1); j < 64; j += 4) {
            double sum = 0;
            for (int k = 0; k < 32; k++) sum = fma(below[k][x], beside[k][j], sum);
            if (row < n && left + j <= row) a[(left + j) * n + row] -= sum;
          }
        }
      }
    }
  }
}
