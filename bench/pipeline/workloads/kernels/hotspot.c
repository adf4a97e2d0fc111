// SPDX-License-Identifier: Apache-2.0
//
// A step of heat that flows on a plate with sources: each cell takes up a part of its power, of the differences to its four
// neighbours, and of that to the air. Beyond the rim it is as warm as at the rim. Work-groups handle 64 columns of some rows.
#include <weir/kernel.h>

WEIR_KERNEL(hotspot_step, 64, 1, 1,
            (WEIR_BUFFER(const float, before), WEIR_BUFFER(const float, power), WEIR_BUFFER(float, after),
             WEIR_SCALAR(int32_t, width), WEIR_SCALAR(int32_t, height), WEIR_SCALAR(int32_t, rows))) {
  int first = weir_group_id(1) * rows;
  int end = first + rows < height ? first + rows : height;
  for (int y = first; y < end; y++) {
    int here = y * width;
    int above = y > 0 ? here - width : here;
    int below = y < height - 1 ? here + width : here;
    WEIR_FOR_EACH_ITEM_NOWAIT {
      int x = weir_global_id(0);
      int west = x > 0 ? x - 1 : 0;
      int east = x < width - 1 ? x + 1 : x;
      float centre = before[here + x];
      float upright = before[above + x] + before[below + x] - 2 * centre;
      float across = before[here + west] + before[here + east] - 2 * centre;
      after[here + x] =
          centre + 0.5f * power[here + x] + 0.125f * upright + 0.0625f * across + 0.015625f * (80 - centre);
    }
  }
}
