// SPDX-License-Identifier: Apache-2.0
//
// Open tasks (device/open.h) on in-order devices: the slots that they have while they are open, each with a queue, or a
// place for commands, of the device's.
#ifndef WEIR_ISSUE_OPENS_H
#define WEIR_ISSUE_OPENS_H

#include "base/lock.h"
#include "device/open.h"

enum { WEIR__MOST_OPEN = 8 }; // tasks that may be open at the same time

typedef struct weir__opens {
  weir__lock lock;
  bool made;      // what slots need is there
  uint32_t taken; // a bit for each
  uint32_t next;
  _Atomic uint32_t changes; // word of those who wait for one
} weir__opens;

// The head of the device's part of an open task (weir__open.native).
typedef struct weir__open_slot {
  uint32_t index;
  bool held; // the slot is this task's
} weir__open_slot;

// Takes a slot in turn, or waits until one comes free. `make` (NULL: nothing is needed) makes what slots need, and is
// called with their lock held until it has returned 0. Returns 0, or what it returned: a result of the driver's.
int weir__opens_take(weir__opens *opens, int (*make)(void *device), void *device, weir__open_slot *slot);
// Gives it back, if it is held.
void weir__opens_give(weir__opens *opens, weir__open_slot *slot);

#endif // WEIR_ISSUE_OPENS_H
