// SPDX-License-Identifier: Apache-2.0
//
// The task that is waited for: it computes a value from three others, takes its time, and last of all writes when that
// was, by the clock of the device that it runs on: to its buffer, or to a word of the host's memory if it gets the
// address of one.
#include <weir/kernel.h>

#include "device_clock.h"

WEIR_KERNEL(wait_task, 32, 1, 1,
            (WEIR_BUFFER(uint64_t, out), WEIR_BUFFER(const uint64_t, first), WEIR_BUFFER(const uint64_t, second),
             WEIR_BUFFER(const uint64_t, third), WEIR_SCALAR(uint64_t, number), WEIR_SCALAR(uint64_t, spin_ns),
             WEIR_SCALAR(uint64_t, word))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    if (weir_local_id(0) == 0) {
      uint64_t begin = wait_clock_ns();
      out[0] = number + first[0] * 3u + second[0] * 5u + third[0] * 7u;
      while (wait_clock_ns() - begin < spin_ns) {
      }
      wait_write(word != 0 ? (uint64_t *)word : &out[1], wait_clock_ns());
    }
  }
}
