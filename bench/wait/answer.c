// SPDX-License-Identifier: Apache-2.0
//
// What is found out about a card's clock: the smallest of its steps, and what it shows when the host asks.
#include <weir/kernel.h>

#include "device_clock.h"

// The smallest of so many steps of the clock.
WEIR_KERNEL(wait_steps, 1, 1, 1, (WEIR_BUFFER(uint64_t, out), WEIR_SCALAR(uint64_t, steps))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    uint64_t smallest = ~(uint64_t)0, last = wait_clock_ns();
    for (uint64_t i = 0; i < steps; i++) {
      uint64_t now = wait_clock_ns();
      while (now == last) now = wait_clock_ns();
      if (now - last < smallest) smallest = now - last;
      last = now;
    }
    wait_write(out, smallest);
  }
}

// Answers the questions 1, 2, ..., `questions` with the time, which is never the same twice. It gives up after
// `patience_ns`.
WEIR_KERNEL(wait_answer, 1, 1, 1,
            (WEIR_BUFFER(const uint64_t, ask), WEIR_BUFFER(uint64_t, answer), WEIR_SCALAR(uint64_t, questions),
             WEIR_SCALAR(uint64_t, patience_ns))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    uint64_t begin = wait_clock_ns(), question = 1, last = 0, looks = 0;
    while (question <= questions && wait_clock_ns() - begin < patience_ns) {
      if (wait_read(ask) < question) {
        if (++looks % 1024 == 0) wait_yield(); // to the host's thread, where there is no card
        continue;
      }
      uint64_t now = wait_clock_ns();
      while (now == last) now = wait_clock_ns();
      last = now;
      wait_write(answer, now);
      question++;
    }
  }
}
