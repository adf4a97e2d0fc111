// SPDX-License-Identifier: Apache-2.0
//
// The kernels of `weir split`, for every device but Vulkan (split_compute.comp, split_memory.comp). A work-group handles numbers
// of its own, so that a launch can be cut anywhere.
#include <weir/kernel.h>

#include "split_steps.h"

// One number for each work-item, on which it does 4 `work` steps.
WEIR_KERNEL(split_compute, 256, 1, 1,
            (WEIR_BUFFER(const uint32_t, in), WEIR_BUFFER(uint32_t, out), WEIR_SCALAR(int32_t, work))) {
  WEIR_PRIVATE(uint32_t, number, 1);
  WEIR_FOR_EACH_ITEM_NOWAIT {
    weir_private(number, 0) = in[weir_global_id(0)];
  }
  for (int k = 0; k < work; k++) {
    WEIR_FOR_EACH_ITEM_NOWAIT {
      uint32_t x = weir_private(number, 0);
      SPLIT_STEPS(x);
      weir_private(number, 0) = x;
    }
  }
  WEIR_FOR_EACH_ITEM_NOWAIT {
    out[weir_global_id(0)] = weir_private(number, 0);
  }
}

// `work` numbers for each work-item, read and written once.
WEIR_KERNEL(split_memory, 256, 1, 1,
            (WEIR_BUFFER(const uint32_t, in), WEIR_BUFFER(uint32_t, out), WEIR_SCALAR(int32_t, work))) {
  for (int k = 0; k < work; k++) {
    WEIR_FOR_EACH_ITEM_NOWAIT {
      int i = (weir_group_id(0) * work + k) * 256 + weir_local_id(0);
      uint32_t x = in[i];
      out[i] = SPLIT_MOVE(x);
    }
  }
}
