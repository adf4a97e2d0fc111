// SPDX-License-Identifier: Apache-2.0
//
// What policies make of measurements. Pure.
#ifndef WEIR_SPLIT_RATES_H
#define WEIR_SPLIT_RATES_H

#include "weir/split.h"

// Speed of a device in units per nanosecond, from its last rounds: newer ones count more, each by the time that it took. 0: not
// known.
double weir__split_rate(const weir_split_view *view, uint32_t device);

// The same, from what it did in this launch too.
double weir__split_rate_now(const weir_split_view *view, uint32_t device);

// By how much its speed in a round was off from what the rounds before promised, on average: 0.1 is 10 %. -1: not known.
double weir__split_spread(const weir_split_view *view, uint32_t device);

// Units that a device has and has not finished, in this launch.
uint64_t weir__split_pending(const weir_split_state *state);

// Divides view->total in the ratio of `weights` (one a device, those that are out have no part), each rounded to the device's
// grain, so that the sum is right.
void weir__split_divide(const weir_split_view *view, const double *weights, uint64_t *out_units);

#endif // WEIR_SPLIT_RATES_H
