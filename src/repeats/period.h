// SPDX-License-Identifier: Apache-2.0
//
// Where a run begins to repeat itself: the program has a loop, and nothing in it ends the run.
#ifndef WEIR_REPEATS_PERIOD_H
#define WEIR_REPEATS_PERIOD_H

#include "repeats/run.h"

enum { WEIR__PERIOD_SLOTS = 2048 };

typedef struct weir__period {
  uint32_t distance; // to the task that each of the last `equal` tasks is like; 0: the last one is new
  uint32_t equal;
  uint16_t slots[WEIR__PERIOD_SLOTS]; // by hash: 1 more than the last task with it
} weir__period;

void weir__period_clear(weir__period *period);

// Looks at the task that was appended last. Returns the number of tasks at the end of the run that are what came before them again, at
// least `fewest` and a multiple of the period; 0: the run has not repeated itself yet.
uint32_t weir__period_find(weir__period *period, const weir__run *run, uint32_t fewest);

#endif // WEIR_REPEATS_PERIOD_H
