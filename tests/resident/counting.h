// SPDX-License-Identifier: Apache-2.0
//
// Tasks that only count, each of which comes after the one before it.
#ifndef WEIR_TESTS_RESIDENT_COUNTING_H
#define WEIR_TESTS_RESIDENT_COUNTING_H

#include "rig.h"

typedef struct unit_counter {
  uint64_t units; // atomic: sum of 1 + the unit's index
  uint64_t tasks; // plain: what the edges order
} unit_counter;

// Writes the next task; not published yet. False: there is no slot.
bool counting_publish(test_rig *rig, unit_counter *counter, uint32_t units, bool chained);
// Publishes tasks until so many more were reported; launches where needed.
void counting_run(test_rig *rig, unit_counter *counter, uint32_t tasks, uint32_t units);
// No launch is resident: all is at rest, and so many tasks with so many units each were counted.
void counting_check(const test_rig *rig, const unit_counter *counter, uint64_t tasks, uint64_t units);

#endif // WEIR_TESTS_RESIDENT_COUNTING_H
