// SPDX-License-Identifier: Apache-2.0
#include "repeats/period.h"

#include <string.h>

void weir__period_clear(weir__period *period) {
  memset(period, 0, sizeof *period);
}

// The distance to the last task with the same hash; 0: there is none.
static uint32_t distance_to_last(const weir__period *period, const weir__run *run, uint32_t index) {
  uint32_t slot = period->slots[run->tasks[index].kind % WEIR__PERIOD_SLOTS];
  return slot > 0 && run->tasks[slot - 1].kind == run->tasks[index].kind ? index - (slot - 1) : 0;
}

uint32_t weir__period_find(weir__period *period, const weir__run *run, uint32_t fewest) {
  uint32_t index = run->count - 1;
  uint64_t kind = run->tasks[index].kind;
  // A task may occur several times in a period, so the distance that held so far is tried first.
  if (period->distance > 0 && run->tasks[index - period->distance].kind == kind) {
    period->equal++;
  } else {
    period->distance = distance_to_last(period, run, index);
    period->equal = period->distance > 0;
  }
  period->slots[kind % WEIR__PERIOD_SLOTS] = (uint16_t)(index + 1);
  if (period->distance == 0) return 0;
  uint32_t rest = fewest % period->distance;
  uint32_t tasks = period->distance >= fewest ? period->distance
                   : rest == 0                ? fewest
                                              : fewest + period->distance - rest;
  return period->equal >= tasks ? tasks : 0;
}
