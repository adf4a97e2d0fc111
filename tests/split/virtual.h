// SPDX-License-Identifier: Apache-2.0
//
// Real splits in virtual time: launches on simulated devices of different and changing speed, which share one clock. Deterministic.
#ifndef TESTS_SPLIT_VIRTUAL_H
#define TESTS_SPLIT_VIRTUAL_H

#include "weir/split.h"

typedef enum change { CONSTANT, DRIFTING, STALLING, FIRST_STALLS } change;

enum { VIRTUAL_MOST_LAUNCHES = 128 };

// Devices of the profile "plain". Launches take a few milliseconds.
typedef struct virtual_case {
  const char *name;
  change change;
  uint32_t device_count;
  double speeds[8]; // the slowest is 1
  uint32_t groups;  // of a launch
  double group_us;  // of one work-group on a device of speed 1
} virtual_case;

typedef struct virtual_run {
  double efficiency
      [VIRTUAL_MOST_LAUNCHES]; // of each launch: the time in which all devices together, at the speeds that they have
                               // then, do the work, over the time that it took
  uint64_t end_ns[VIRTUAL_MOST_LAUNCHES]; // the host's clock after each launch
  uint32_t redone;                        // pieces that another device did, in all
  weir_split_round last;
} virtual_run;

// The list of the case's devices, for weir_context_options.
void virtual_devices(const virtual_case *c, char *text, size_t size);

// Runs `launches` launches one after another. Errors: of the calls of Weir; TASK_FAILED (not every work-group ran once).
weir_status virtual_simulate(const virtual_case *c, const char *policy, uint32_t launches, virtual_run *out_run);

// The mean over launches from number `from` on; negative: it failed, as weir_last_error says.
double virtual_efficiency(const virtual_case *c, const char *policy, uint32_t launches, uint32_t from);

extern const virtual_case virtual_cases[];
extern const uint32_t virtual_case_count;

#endif // TESTS_SPLIT_VIRTUAL_H
