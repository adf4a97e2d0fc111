// SPDX-License-Identifier: Apache-2.0
//
// How fast a simulated device works at which time: its speed goes up and down, and now and then it stands still. Pure, in whole
// numbers, so that it is the same on every machine.
#ifndef WEIR_DEVICE_SIM_PACE_H
#define WEIR_DEVICE_SIM_PACE_H

#include "device/sim/profile.h"

// What a device has done by `ps` if it works all the time, in picoseconds of work at its usual speed. Never falls.
uint64_t weir__sim_work_at(const weir__sim_profile *profile, uint64_t ps);

// When a device that begins at `ps` has done that much work: the first such time.
uint64_t weir__sim_time_after(const weir__sim_profile *profile, uint64_t ps, uint64_t work_ps);

#endif // WEIR_DEVICE_SIM_PACE_H
