// SPDX-License-Identifier: Apache-2.0
#include "counting.h"

static void count_unit(const weir__r_group *group) {
  unit_counter *counter = (unit_counter *)(uintptr_t)group->args[0];
  __atomic_fetch_add(&counter->units, 1 + group->id[0], __ATOMIC_RELAXED);
  if (group->id[0] == 0) counter->tasks++;
}

bool counting_publish(test_rig *rig, unit_counter *counter, uint32_t units, bool chained) {
  weir__r_task *slot = rig_next_slot(rig);
  if (slot == NULL) return false;
  *slot = (weir__r_task){.function = (uint64_t)(uintptr_t)count_unit,
                         .number = rig->published + 1,
                         .units = units,
                         .edge_count = chained,
                         .edges = {rig->published},
                         .args = {(uint64_t)(uintptr_t)counter}};
  rig_wrote(rig);
  return true;
}

void counting_run(test_rig *rig, unit_counter *counter, uint32_t tasks, uint32_t units) {
  uint32_t number, to_report = rig->reported + tasks, to_publish = rig->published + tasks;
  while (rig->reported != to_report) {
    uint32_t before = rig->published;
    while (rig->published != to_publish && counting_publish(rig, counter, units, true)) continue;
    if (rig->published != before) rig_publish(rig);
    if (!rig_is_resident(rig)) rig_launch(rig);
    bool moved = rig->published != before;
    while (rig_reported(rig, &number)) moved = true;
    if (!moved) sched_yield();
  }
}

void counting_check(const test_rig *rig, const unit_counter *counter, uint64_t tasks, uint64_t units) {
  rig_check_at_rest(rig);
  RIG_CHECK(rig, counter->tasks == tasks, counter->tasks);
  RIG_CHECK(rig, counter->units == tasks * (units * (units + 1) / 2), counter->units);
}
