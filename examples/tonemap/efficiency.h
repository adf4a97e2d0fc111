// SPDX-License-Identifier: Apache-2.0
//
// How well the devices work together: the time that they would need if each kept its own best rate all the time, over the
// time that was taken; and the same by the rates that each had alone just before, because clocks and other programs change them.
#ifndef TONEMAP_EFFICIENCY_H
#define TONEMAP_EFFICIENCY_H

#include "mapper.h"

// Has each of the `devices` devices of `options` map the rectangle at x, y alone, and all together, in turn, and prints best
// and median times and the efficiency: of the launch that takes longest, medians of 25 turns after 12 for the policy to learn.
// `pixels` is for results. Errors: as mapper_create and mapper_map.
weir_status efficiency_print(const mapper_options *options, uint32_t devices, const picture *in, int32_t x, int32_t y,
                             uint8_t *pixels);

#endif // TONEMAP_EFFICIENCY_H
