// SPDX-License-Identifier: Apache-2.0
//
// Policies in virtual time: devices of made-up speed take the pieces that a policy gives. Deterministic.
#ifndef TESTS_SPLIT_SIMULATOR_H
#define TESTS_SPLIT_SIMULATOR_H

#include "weir/split.h"

typedef enum change { CONSTANT, DRIFTING, STALLING } change;

typedef struct case_ {
  const char *name;
  change change;
  uint32_t device_count;
  double speeds[WEIR_SPLIT_MOST_DEVICES]; // units per microsecond
  uint64_t total;                         // units of a launch
  uint64_t piece_ns, launch_ns;           // what a piece and a launch cost besides the work
} case_;

// Efficiency of each launch: the time in which all devices together, at the speeds that they have then, do the work, over the
// time that it took. `counts` (may be NULL): units by device of the last launch.
void simulate(const case_ *c, const weir_split_policy *policy, uint32_t launches, double *out_efficiency,
              uint64_t *out_units);

// The mean over launches from number `from` on.
double mean_efficiency(const case_ *c, const weir_split_policy *policy, uint32_t launches, uint32_t from);

extern const case_ cases[];
extern const uint32_t case_count;

#endif // TESTS_SPLIT_SIMULATOR_H
