// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <stdatomic.h>

uint64_t weir__ticks_per_us(void) {
  static _Atomic uint64_t measured;
  uint64_t result = atomic_load_explicit(&measured, memory_order_relaxed);
  if (result != 0) return result;
  uint64_t start_ns = weir__clock_ns();
  uint64_t start = weir__ticks();
  uint64_t elapsed_ns;
  do {
    elapsed_ns = weir__clock_ns() - start_ns;
  } while (elapsed_ns < 200000);
  result = (weir__ticks() - start) * 1000 / elapsed_ns;
  if (result == 0) result = 1;
  atomic_store_explicit(&measured, result, memory_order_relaxed);
  return result;
}
