// SPDX-License-Identifier: Apache-2.0
//
// Two clocks, one after the other: the time that a device did not stand still, and of that the work. Drift goes by the former, in
// steps of constant speed: up to the highest, down to the lowest and up again. Both clocks can be read backwards without
// walking through the past.
#include "device/sim/pace.h"

enum { STEPS = 32, ONE = 1000000 };

// Speed in a step of the period, in millionths of the usual one. The mean of all steps is ONE.
static uint64_t speed_in(const weir__sim_profile *profile, uint32_t step) {
  int64_t at = (int64_t)step, quarter = STEPS / 4;
  int64_t up = at < quarter ? at : at < 3 * quarter ? 2 * quarter - 1 - at : at - 4 * quarter; // -8 to 7
  int64_t change = (int64_t)profile->drift_ppm * (2 * up + 1) / (2 * quarter);
  return (uint64_t)(ONE + change);
}

static uint64_t step_ps(const weir__sim_profile *profile) {
  uint64_t ps = profile->drift_period / STEPS;
  return ps > 0 ? ps : 1;
}

// Time up to `ps` in which the device did not stand still, and the first time at which it was so much.
static uint64_t running_at(const weir__sim_profile *profile, uint64_t ps) {
  if (profile->stall_for == 0) return ps;
  uint64_t rest = ps % profile->stall_every;
  uint64_t whole = ps / profile->stall_every * (profile->stall_every - profile->stall_for);
  return whole + (rest > profile->stall_for ? rest - profile->stall_for : 0);
}

static uint64_t time_of_running(const weir__sim_profile *profile, uint64_t running) {
  if (profile->stall_for == 0) return running;
  uint64_t each = profile->stall_every - profile->stall_for, rest = running % each;
  return running / each * profile->stall_every + (rest > 0 ? profile->stall_for + rest : 0);
}

static uint64_t work_of_running(const weir__sim_profile *profile, uint64_t running) {
  if (profile->drift_ppm == 0) return running;
  uint64_t step = step_ps(profile), rest = running % (STEPS * step), millionths = 0;
  uint32_t i = 0;
  for (; rest > step; i++, rest -= step) millionths += speed_in(profile, i) * step;
  millionths += speed_in(profile, i) * rest;
  return running / (STEPS * step) * (STEPS * step) + millionths / ONE;
}

static uint64_t running_of_work(const weir__sim_profile *profile, uint64_t work_ps) {
  if (profile->drift_ppm == 0) return work_ps;
  uint64_t step = step_ps(profile), rest = work_ps % (STEPS * step) * ONE, running = 0;
  uint32_t i = 0;
  for (; rest > speed_in(profile, i) * step; i++, running += step) rest -= speed_in(profile, i) * step;
  uint64_t speed = speed_in(profile, i);
  return work_ps / (STEPS * step) * (STEPS * step) + running + (rest + speed - 1) / speed;
}

uint64_t weir__sim_work_at(const weir__sim_profile *profile, uint64_t ps) {
  return work_of_running(profile, running_at(profile, ps + profile->phase));
}

uint64_t weir__sim_time_after(const weir__sim_profile *profile, uint64_t ps, uint64_t work_ps) {
  if (profile->drift_ppm == 0 && profile->stall_for == 0) return ps + work_ps;
  uint64_t until = weir__sim_work_at(profile, ps) + work_ps;
  uint64_t end_ps = time_of_running(profile, running_of_work(profile, until));
  return end_ps > ps + profile->phase ? end_ps - profile->phase : ps;
}
