// SPDX-License-Identifier: Apache-2.0
//
// The policies that there are, and what `auto` takes from the others. Pure.
#ifndef WEIR_SPLIT_POLICY_H
#define WEIR_SPLIT_POLICY_H

#include "weir/split.h"

extern const weir_split_policy weir__split_static, weir__split_history, weir__split_queue, weir__split_guided,
    weir__split_frames, weir__split_auto;

// Of the time in which a part is done, guided parts take this part of what is left.
uint64_t weir__split_guided_next(const weir_split_view *view, uint32_t device, double fraction);

// Number of the device that should finish a whole launch first.
uint32_t weir__split_frames_device(const weir_split_view *view);

// What is left goes on to those that are not out, after one-part policies have given all parts.
uint64_t weir__split_rest(const weir_split_view *view, uint32_t device, const double *weights);

#endif // WEIR_SPLIT_POLICY_H
