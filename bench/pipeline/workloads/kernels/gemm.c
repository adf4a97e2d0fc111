// SPDX-License-Identifier: Apache-2.0
//
// The product of two square matrices, by tiles of 16 x 16 that a work-group has in local memory.
#include <weir/kernel.h>

WEIR_KERNEL(gemm_tiled, 16, 16, 1,
            (WEIR_BUFFER(const float, left), WEIR_BUFFER(const float, right), WEIR_BUFFER(float, product),
             WEIR_SCALAR(int32_t, n))) {
  WEIR_LOCAL float a[16][16];
  WEIR_LOCAL float b[16][16];
  WEIR_PRIVATE(float, sum, 1);
  WEIR_FOR_EACH_ITEM_NOWAIT {
    weir_private(sum, 0) = 0;
  }
  for (int tile = 0; tile < n; tile += 16) {
    WEIR_FOR_EACH_ITEM {
      a[weir_local_id(1)][weir_local_id(0)] = left[weir_global_id(1) * n + tile + weir_local_id(0)];
      b[weir_local_id(1)][weir_local_id(0)] = right[(tile + weir_local_id(1)) * n + weir_global_id(0)];
    }
    for (int k = 0; k < 16; k++) {
      WEIR_FOR_EACH_ITEM_NOWAIT {
        weir_private(sum, 0) += a[weir_local_id(1)][k] * b[k][weir_local_id(0)];
      }
    }
    WEIR_FOR_EACH_ITEM {}
  }
  WEIR_FOR_EACH_ITEM_NOWAIT {
    product[weir_global_id(1) * n + weir_global_id(0)] = weir_private(sum, 0);
  }
}
