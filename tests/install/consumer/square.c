// SPDX-License-Identifier: Apache-2.0
#include <weir/kernel.h>

#include "constants.h"

WEIR_KERNEL(square, 64, 1, 1, (WEIR_BUFFER(const float, in), WEIR_BUFFER(float, out))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    out[weir_global_id(0)] = in[weir_global_id(0)] * in[weir_global_id(0)] + OFFSET;
  }
}
