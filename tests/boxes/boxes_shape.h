// SPDX-License-Identifier: Apache-2.0
// Included by the kernel and by the tests: plain C for every device.
#ifndef WEIR_TESTS_BOXES_SHAPE_H
#define WEIR_TESTS_BOXES_SHAPE_H

// A box in words, from its first one.
typedef struct boxes_part {
  uint32_t width, pitch, rows, slice_pitch, slices;
} boxes_part;

typedef struct boxes_shape {
  boxes_part from, to;
  uint32_t seed, updates;
} boxes_shape;

#endif // WEIR_TESTS_BOXES_SHAPE_H
