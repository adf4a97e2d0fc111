// SPDX-License-Identifier: Apache-2.0
//
// Kernels of test_resident_abort_card.c.
#include <weir/kernel.h>

// Says that it has begun, at an address in pinned memory of the host, and goes on as long as the first word is not the greatest number:
// by an atomic, so that no compiler takes the loop out.
WEIR_KERNEL(never_ends, 32, 1, 1, (WEIR_BUFFER(uint32_t, words), WEIR_SCALAR(uint64_t, begun))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    *(volatile uint32_t *)begun = 1;
    while (weir_atomic_add(words, 0u) != 0xffffffffu) continue;
  }
}

WEIR_KERNEL(count_up, 32, 1, 1, (WEIR_BUFFER(uint32_t, words))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    words[weir_global_id(0)] += 1;
  }
}
