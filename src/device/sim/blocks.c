// SPDX-License-Identifier: Apache-2.0
//
// How kernels that run at the same time share the device: a block of a kernel of which the device holds N takes 1/N of
// it, wherever there is room. Kernels place their blocks one kernel after another, in order of priority and age, as the
// block schedulers of GPUs do. A block that runs is not interrupted.
#include "device/sim/op.h"

static void take_first(weir__sim_list *list) {
  list->first = list->first->next;
  if (list->first == NULL) list->last = NULL;
}

// A timer for more blocks of an op. False: no memory for one now; the op has another timer that will bring it back.
static bool has_timer(weir__sim_engine *engine, const weir__sim_op *op) {
  return op->timers == 0 || weir__sim_timers_reserve(engine, engine->timer_count + engine->reserved + 1);
}

void weir__sim_place(weir__sim_engine *engine) {
  weir__sim_admit(engine);
  while (engine->placing.first != NULL) {
    weir__sim_op *op = engine->placing.first;
    uint64_t blocks = engine->units_free / op->block_units;
    if (blocks > op->blocks_left) blocks = op->blocks_left;
    if (blocks == 0 || !has_timer(engine, op)) return;
    if (op->start_ps == UINT64_MAX) op->start_ps = engine->device_ps;
    op->blocks_left -= blocks;
    op->blocks_running += blocks;
    engine->units_free -= blocks * op->block_units;
    weir__sim_timers_add(engine, op, weir__sim_time_after(&engine->profile, engine->device_ps, op->block_ps), blocks);
    if (op->blocks_left > 0) return;
    take_first(&engine->placing);
  }
}

bool weir__sim_end_blocks(weir__sim_engine *engine, weir__sim_op *op, uint64_t blocks) {
  op->blocks_running -= blocks;
  engine->units_free += blocks * op->block_units;
  if (op->blocks_running > 0 || op->blocks_left > 0) return false;
  weir__sim_leave(engine, op);
  return true;
}
