// SPDX-License-Identifier: Apache-2.0
#include "device/sim/profile.h"

#define MAX_US 1e9

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

static uint64_t blocks_per_sm(const weir__sim_profile *profile, const weir_sim_launch *launch) {
  uint64_t threads = round_up(launch->threads > 0 ? launch->threads : 1, profile->warp_threads);
  uint64_t registers = round_up(launch->registers, profile->register_unit) * threads;
  uint64_t shared = launch->shared_bytes + profile->shared_bytes_reserved;
  uint64_t blocks = least(profile->threads_per_sm / threads, profile->blocks_per_sm);
  if (registers > 0) blocks = least(blocks, profile->registers_per_sm / registers);
  if (shared > 0) blocks = least(blocks, profile->shared_bytes_per_sm / shared);
  return blocks > 0 ? blocks : 1;
}

// A copy occupies a part of the device, however long it is.
static void set_copy(const weir__sim_profile *profile, uint64_t ps, weir__sim_cost *out_cost) {
  uint64_t units = (uint64_t)((double)(profile->sms * WEIR__SIM_SM_UNITS) * 1e-6 * (double)profile->copy_share_ppm);
  if (units == 0) units = 1;
  *out_cost =
      (weir__sim_cost){.blocks = 1, .units = units, .block_ps = ps, .alone_ps = ps, .share = units, .copy = true};
}

void weir__sim_profile_copy_cost(const weir__sim_profile *profile, uint64_t bytes, uint64_t rate,
                                 weir__sim_cost *out_cost) {
  double us = (double)bytes / (1e-3 * (double)rate);
  set_copy(profile, (uint64_t)((us > MAX_US ? MAX_US : us) * WEIR__SIM_PS_PER_US + 0.5), out_cost);
}

void weir__sim_profile_cost(const weir__sim_profile *profile, const weir_sim_launch *launch, uint64_t groups,
                            weir__sim_cost *out_cost) {
  double us = launch->us + launch->group_us * (double)groups;
  if (us > MAX_US) us = MAX_US;
  uint64_t ps = (uint64_t)(us * WEIR__SIM_PS_PER_US + 0.5);
  ps = ps > profile->kernel_fixed ? ps - profile->kernel_fixed : 0;
  if (profile->speed_ppm != 1000000) ps = (uint64_t)((double)ps * (1e6 / (double)profile->speed_ppm) + 0.5);
  if (launch->copy_bytes > 0) {
    set_copy(profile, ps, out_cost);
    return;
  }
  uint64_t blocks = launch->blocks > 0 ? launch->blocks : groups;
  uint64_t per_sm = blocks_per_sm(profile, launch), capacity = per_sm * profile->sms;
  uint64_t waves = (blocks + capacity - 1) / capacity;
  double part = (double)blocks / ((double)waves * (double)capacity);
  *out_cost = (weir__sim_cost){.blocks = blocks,
                               .units = WEIR__SIM_SM_UNITS / per_sm,
                               .block_ps = (ps + waves - 1) / waves,
                               .alone_ps = ps,
                               .share = (uint64_t)(part * (double)(profile->sms * WEIR__SIM_SM_UNITS))};
}
