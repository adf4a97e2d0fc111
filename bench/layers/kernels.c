// SPDX-License-Identifier: Apache-2.0
//
// The task of a layered graph: a work-group that computes for a while from three values of the layer before.
#include <weir/kernel.h>

WEIR_KERNEL(layer_task, 32, 1, 1,
            (WEIR_BUFFER(uint32_t, out), WEIR_BUFFER(const uint32_t, first), WEIR_BUFFER(const uint32_t, second),
             WEIR_BUFFER(const uint32_t, third), WEIR_SCALAR(uint32_t, number), WEIR_SCALAR(uint32_t, rounds))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int i = weir_local_id(0);
    uint32_t value = number + first[i] * 3u + second[i] * 5u + third[i] * 7u;
    for (uint32_t round = 0; round < rounds; round++) value = (value ^ value >> 15) * 0x2c1b3c6du + number;
    out[i] = value;
  }
}
