// SPDX-License-Identifier: Apache-2.0
//
// How much work is known to wait for a task: what a scheduler that sees the whole window would go by.
#include "device/sim/sim.h"

// Bounds on what one submission may cost; what lies further back keeps a tail that is too short.
enum { MAX_WAITING = 256, MAX_VISITS = 4096 };

void weir__sim_lengthen_tails(weir__sim_device *device, weir__sim_task *sim_task) {
  weir__sim_task *waiting[MAX_WAITING] = {sim_task};
  uint32_t count = 1, visits = 0;
  while (count > 0 && visits < MAX_VISITS) {
    const weir__sim_task *task = waiting[--count];
    uint64_t path_ps = task->whole.chain_ps + task->whole.tail_ps;
    for (uint32_t i = 0; i < task->task->predecessor_count; i++) {
      weir__sim_task *predecessor = weir__sim_find(device, task->task->predecessors[i]);
      visits++;
      if (predecessor == NULL || predecessor->whole.tail_ps >= path_ps) continue;
      predecessor->whole.tail_ps = path_ps;
      if (count < MAX_WAITING) waiting[count++] = predecessor;
    }
  }
}
