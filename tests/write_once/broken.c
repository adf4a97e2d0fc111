// SPDX-License-Identifier: Apache-2.0
//
// A kernel with a race, which tests under the thread sanitizer must find.
#include <weir/kernel.h>

// What a work-item wrote, another one reads without a wait.
WEIR_KERNEL(broken, 64, 1, 1, (WEIR_BUFFER(int32_t, data))) {
  WEIR_LOCAL int32_t shared[64];
  WEIR_FOR_EACH_ITEM_NOWAIT {
    shared[weir_local_id(0)] = data[weir_local_id(0)];
  }
  WEIR_FOR_EACH_ITEM {
    data[weir_local_id(0)] = shared[63 - weir_local_id(0)];
  }
}
