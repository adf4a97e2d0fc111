// SPDX-License-Identifier: Apache-2.0
//
// What tasks of random programs with boxes compute: each word of one box from words of another.
#include <weir/kernel.h>

#include "boxes_shape.h"

WEIR_FUNCTION uint32_t boxes_at(boxes_part part, uint32_t index) {
  uint32_t row = index / part.width, slice = row / part.rows;
  return slice * part.slice_pitch + (row - slice * part.rows) * part.pitch + index % part.width;
}

WEIR_KERNEL(boxes_mix, 16, 1, 1,
            (WEIR_BUFFER(const uint32_t, from), WEIR_BUFFER(uint32_t, to), WEIR_SCALAR(boxes_shape, shape))) {
  WEIR_FOR_EACH_ITEM {
    uint32_t count = shape.to.width * shape.to.rows * shape.to.slices;
    uint32_t sources = shape.from.width * shape.from.rows * shape.from.slices;
    for (uint32_t i = (uint32_t)weir_global_id(0); i < count; i += (uint32_t)weir_global_size(0)) {
      uint32_t at = boxes_at(shape.to, i), source = (i * 7 + shape.seed) % sources;
      uint32_t word = from[boxes_at(shape.from, source)] * 2654435761u + i + shape.seed;
      if (shape.updates != 0) word += to[at] * 40503u;
      to[at] = word ^ (word >> 15);
    }
  }
}
