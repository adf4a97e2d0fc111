// SPDX-License-Identifier: Apache-2.0
//
// How well the devices work together: the time that they would need if each kept its own best rate all the time, over the
// time that was taken.
#ifndef TONEMAP_EFFICIENCY_H
#define TONEMAP_EFFICIENCY_H

#include "mapper.h"

// Has each device of `options` map the rectangle at x, y alone a few times, and prints its best time and the efficiency of the
// frames in `reports`: of the launch that takes longest, by the median of the second half of the frames. `pixels` is for
// results. Errors: as mapper_create and mapper_map.
weir_status efficiency_print(const mapper_options *options, const picture *in, int32_t x, int32_t y, uint8_t *pixels,
                             const mapper_report *reports, int count);

#endif // TONEMAP_EFFICIENCY_H
