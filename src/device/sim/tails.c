// SPDX-License-Identifier: Apache-2.0
//
// How much work is known to wait for each task: what a scheduler that sees the whole window would go by.
#include "device/sim/sim.h"

// Tails are brought up to date when a 16th of the tasks in flight is new, which bounds the cost per task.
enum { NEW_PART = 16 };

void weir__sim_update_tails(weir__sim_device *device) {
  if (!device->fluid || device->new_tasks == 0 || device->new_tasks < device->in_flight / NEW_PART) return;
  device->new_tasks = 0;
  const weir__window *window = &device->base.host->window;
  // Predecessors have smaller ids, so one pass from the newest task to the oldest is enough.
  for (weir__id id = window->next; id-- > window->live.oldest;) {
    const weir__sim_task *task = weir__sim_find(device, id);
    if (task == NULL) continue;
    uint64_t path_ps = task->whole.alone_ps + task->whole.tail_ps;
    for (uint32_t i = 0; i < task->task->predecessor_count; i++) {
      weir__sim_task *predecessor = weir__sim_find(device, task->task->predecessors[i]);
      if (predecessor != NULL && predecessor->whole.tail_ps < path_ps) predecessor->whole.tail_ps = path_ps;
    }
  }
}
