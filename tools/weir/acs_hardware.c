// SPDX-License-Identifier: Apache-2.0
//
// ACS-HW: the window is in the device. The host compares a task with the last M that it sent, whether or not they have ended
// since, and sends it with the list of those in its way; it never waits for the device but where the application does. The
// device takes off the list what is no longer in the window. It does one thing at a time: it puts the next task in, in N
// cycles, or takes one out that has ended, in N - 1, and starts what is ready. A task must not come in when the oldest in the
// window is more than M before it: the host did not compare the two.
#include <stdlib.h>

#include "acs_model.h"

typedef struct hardware {
  weir__acs *acs;
  uint32_t checked, sent, inserted; // tasks
  uint64_t check_ps, send_ps;       // when what the host's two threads do ends; NEVER: nothing
  uint64_t *arrivals_ps;            // of tasks that were sent or are being sent
  uint32_t sending;                 // of them
  uint32_t *ended;                  // tasks that ended, in this order,
  uint32_t ended_count, taken_out;  // of which so many have left the window
  bool *slot_taken;
  uint64_t unit_ps; // when the window's hardware has done what it does; NEVER: nothing
  bool taking_out;  // what that is
} hardware;

// ---------------------------------------------------------------------------------------------------------------
// The host

static void start_check(hardware *hw, uint64_t now_ps) {
  weir__acs *acs = hw->acs;
  if (hw->check_ps != WEIR__ACS_NEVER || hw->checked == acs->available) return;
  uint32_t first = hw->checked > acs->settings->list ? hw->checked - acs->settings->list : 0;
  hw->check_ps = now_ps;
  for (uint32_t t = first; t < hw->checked; t++) hw->check_ps += acs->tasks[t].range_count * acs->settings->check_ps;
}

// Each launch of a task costs one of the driver's, and arrives behind it.
static void start_sending(hardware *hw, uint64_t now_ps) {
  weir__acs *acs = hw->acs;
  if (hw->send_ps != WEIR__ACS_NEVER || hw->sent == hw->checked) return;
  hw->arrivals_ps[hw->sending++] = now_ps + acs->profile->launch + acs->profile->launch_latency;
  hw->send_ps = now_ps + acs->tasks[hw->sent].launch_count * acs->profile->launch;
}

// ---------------------------------------------------------------------------------------------------------------
// The window

static bool may_insert(hardware *hw) {
  weir__acs *acs = hw->acs;
  if (!weir__acs_has_room(acs, hw->inserted)) return false;
  return acs->window_count == 0 || hw->inserted - acs->window[0] <= acs->settings->list;
}

static void start_unit(hardware *hw, uint64_t now_ps) {
  weir__acs *acs = hw->acs;
  if (hw->unit_ps != WEIR__ACS_NEVER) return;
  uint64_t cycles = acs->settings->window;
  hw->taking_out = hw->taken_out < hw->ended_count;
  bool arrived = hw->inserted < hw->sending && hw->arrivals_ps[hw->inserted] <= now_ps;
  if (hw->taking_out)
    hw->unit_ps = now_ps + (cycles - 1) * acs->settings->cycle_ps;
  else if (arrived && may_insert(hw))
    hw->unit_ps = now_ps + cycles * acs->settings->cycle_ps;
}

// Its launches, one behind the other; none before it has arrived.
static void start_task(hardware *hw, uint32_t task, uint64_t start_ps) {
  weir__acs *acs = hw->acs;
  weir__sim_op *before = NULL;
  for (uint32_t i = 0; i < acs->tasks[task].launch_count && !acs->failed; i++) {
    uint64_t arrival_ps = hw->arrivals_ps[task] + i * acs->profile->launch;
    before = weir__acs_launch(acs, task, i, arrival_ps > start_ps ? arrival_ps : start_ps, WEIR__SIM_NO_QUEUE, before);
  }
}

static void insert(hardware *hw, uint64_t now_ps) {
  uint32_t task = hw->inserted++;
  weir__acs_insert(hw->acs, task, now_ps);
  weir__acs_record *record = &hw->acs->result->records[task];
  while (hw->slot_taken[record->lane]) record->lane++;
  hw->slot_taken[record->lane] = true;
  if (hw->acs->progress[task].upstream_left == 0) start_task(hw, task, now_ps);
}

static void take_out(hardware *hw, uint64_t now_ps) {
  weir__acs *acs = hw->acs;
  uint32_t task = hw->ended[hw->taken_out++];
  weir__acs_remove(acs, task, now_ps);
  hw->slot_taken[acs->result->records[task].lane] = false;
  // What has become ready starts as over an edge of a graph, the dependence that today's hardware resolves without the host.
  for (uint32_t i = 0; i < acs->window_count && !acs->failed; i++) {
    uint32_t other = acs->window[i];
    if (!acs->progress[other].became_ready) continue;
    acs->progress[other].became_ready = false;
    start_task(hw, other, now_ps + acs->profile->graph_gap);
  }
}

static void end_tasks(hardware *hw) {
  weir__acs *acs = hw->acs;
  for (uint32_t task; weir__acs_take(acs, &task);) {
    hw->ended[hw->ended_count++] = task;
    weir__acs_learn(acs, task, acs->result->records[task].end_ps + acs->profile->synchronize);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Time

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static uint64_t next_arrival(const hardware *hw, uint64_t now_ps) {
  if (hw->inserted == hw->sending || hw->arrivals_ps[hw->inserted] <= now_ps) return WEIR__ACS_NEVER;
  return hw->arrivals_ps[hw->inserted];
}

// One thing that happens at `now_ps` outside the multiprocessors, if it is not an arrival. False: the application is done.
static bool handle(hardware *hw, uint64_t now_ps) {
  weir__acs *acs = hw->acs;
  if (hw->unit_ps == now_ps) {
    hw->unit_ps = WEIR__ACS_NEVER;
    if (hw->taking_out)
      take_out(hw, now_ps);
    else
      insert(hw, now_ps);
  } else if (hw->check_ps == now_ps) {
    hw->check_ps = WEIR__ACS_NEVER;
    hw->checked++;
  } else if (hw->send_ps == now_ps) {
    hw->send_ps = WEIR__ACS_NEVER;
    hw->sent++;
  } else if (acs->resume_ps == now_ps) {
    return weir__acs_resume(acs);
  }
  return true;
}

static bool open_hardware(hardware *hw, weir__acs *acs) {
  uint32_t most = acs->settings->window < acs->task_count ? acs->settings->window : acs->task_count;
  *hw = (hardware){.acs = acs, .check_ps = WEIR__ACS_NEVER, .send_ps = WEIR__ACS_NEVER, .unit_ps = WEIR__ACS_NEVER};
  hw->arrivals_ps = calloc(acs->task_count, sizeof *hw->arrivals_ps);
  hw->ended = calloc(acs->task_count, sizeof *hw->ended);
  hw->slot_taken = calloc(most, sizeof *hw->slot_taken);
  return hw->arrivals_ps && hw->ended && hw->slot_taken;
}

void weir__acs_run_hardware(weir__acs *acs) {
  hardware hw;
  acs->failed = !open_hardware(&hw, acs);
  uint64_t now_ps = 0;
  for (bool more = true; more && !acs->failed;) {
    start_check(&hw, now_ps);
    start_sending(&hw, now_ps);
    start_unit(&hw, now_ps);
    uint64_t device_ps = weir__sim_engine_next_ps(acs->engine);
    uint64_t other_ps =
        least(least(least(hw.unit_ps, hw.check_ps), least(hw.send_ps, acs->resume_ps)), next_arrival(&hw, now_ps));
    if (device_ps <= other_ps) {
      now_ps = device_ps;
      weir__sim_engine_handle_next(acs->engine);
      end_tasks(&hw);
    } else {
      now_ps = other_ps;
      more = handle(&hw, now_ps);
    }
  }
  free(hw.arrivals_ps);
  free(hw.ended);
  free(hw.slot_taken);
}
