// SPDX-License-Identifier: Apache-2.0
#include "issue/opens.h"

// Takes one that is free. The lock is held. Returns whether there is one.
static bool take_free(weir__opens *opens, weir__open_slot *slot) {
  for (uint32_t i = 0; i < WEIR__MOST_OPEN; i++) {
    uint32_t index = opens->next++ % WEIR__MOST_OPEN;
    if ((opens->taken >> index & 1) != 0) continue;
    opens->taken |= 1U << index;
    *slot = (weir__open_slot){.index = index, .held = true};
    return true;
  }
  return false;
}

int weir__opens_take(weir__opens *opens, int (*make)(void *device), void *device, weir__open_slot *slot) {
  for (;;) {
    int result = 0;
    uint32_t changes = atomic_load_explicit(&opens->changes, memory_order_acquire);
    weir__lock_acquire(&opens->lock);
    if (!opens->made && make != NULL) result = make(device);
    opens->made = result == 0;
    bool found = result == 0 && take_free(opens, slot);
    weir__lock_release(&opens->lock);
    if (found || result != 0) return result;
    weir__sleep_on(&opens->changes, changes, UINT64_MAX);
  }
}

void weir__opens_give(weir__opens *opens, weir__open_slot *slot) {
  if (!slot->held) return;
  slot->held = false;
  weir__lock_acquire(&opens->lock);
  opens->taken &= ~(1U << slot->index);
  weir__lock_release(&opens->lock);
  atomic_fetch_add_explicit(&opens->changes, 1, memory_order_release);
  weir__wake(&opens->changes, 1);
}
