// SPDX-License-Identifier: Apache-2.0
//
// Hardware that shares itself without loss: a kernel that alone takes T and occupies a part P of the device on average
// makes progress at full speed while it is granted P, and proportionally slower on less. The kernel with the
// longest path of work before it is granted all that it can use, then the next one, until the device is full. Whenever
// something happens, and now and then while the device is full, it is shared out anew: paths get shorter as kernels run.
#include "device/sim/op.h"

enum {
  LEAST_GRANT = 1024, // a kernel that could only run at less than this part of its speed waits instead
  SLICES = 8,         // of the shortest kernel that runs: how often a full device is shared out anew
};

static uint64_t scaled(uint64_t value, uint64_t by, uint64_t of) {
  return by == of ? value : (uint64_t)((double)value * ((double)by / (double)of));
}

static void share_until(weir__sim_engine *engine, uint64_t ps) {
  if (engine->share_until_ps > ps) engine->share_until_ps = ps;
}

void weir__sim_run_shares(weir__sim_engine *engine, uint64_t ps) {
  uint64_t passed = weir__sim_work_at(&engine->profile, ps) - weir__sim_work_at(&engine->profile, engine->device_ps);
  weir__sim_op *kept_last = NULL;
  weir__sim_op **finished_end = &engine->finished;
  weir__sim_op **at = &engine->placing.first;
  for (weir__sim_op *op; (op = *at) != NULL && op->granted > 0;) {
    uint64_t done = op->end_ps <= ps ? op->left_ps : scaled(passed, op->granted, op->share);
    op->left_ps -= done < op->left_ps ? done : op->left_ps;
    op->granted = 0;
    if (op->end_ps > ps) {
      kept_last = op;
      at = &op->next;
      continue;
    }
    *at = op->next;
    op->next = NULL;
    *finished_end = op;
    finished_end = &op->next;
  }
  if (*at == NULL) engine->placing.last = kept_last;
}

void weir__sim_share(weir__sim_engine *engine) {
  weir__sim_admit(engine);
  weir__sim_list_sort(&engine->placing);
  uint64_t free_units = engine->profile.sms * WEIR__SIM_SM_UNITS;
  uint64_t shortest_ps = UINT64_MAX;
  bool full = false;
  engine->share_until_ps = UINT64_MAX;
  for (weir__sim_op *op = engine->placing.first; op != NULL && !full; op = op->next) {
    uint64_t granted = op->share < free_units ? op->share : free_units;
    full = granted < op->share;
    if (granted == 0 || granted < op->share / LEAST_GRANT) break;
    op->granted = granted;
    free_units -= granted;
    if (op->start_ps == UINT64_MAX) op->start_ps = engine->device_ps;
    op->end_ps = weir__sim_time_after(&engine->profile, engine->device_ps, scaled(op->left_ps, op->share, granted));
    if (op->alone_ps < shortest_ps) shortest_ps = op->alone_ps;
    share_until(engine, op->end_ps);
  }
  if (full && shortest_ps != UINT64_MAX) share_until(engine, engine->device_ps + shortest_ps / SLICES + 1);
}
