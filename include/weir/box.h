// SPDX-License-Identifier: Apache-2.0
//
// Strided arguments: rectangles and boxes of a buffer, such as a tile of a column-major matrix or a part of a volume.
//
// An argument of weir.h is a range of bytes. Here it is rows of bytes at equal distances, and slices of such rows at
// equal distances. Tasks wait for each other only if they use the same bytes: those between the rows are not part of
// the argument. The task gets the pointer of the first byte, as with a range. A buffer has the same layout in every
// memory, so the pitches are as declared, on every device. docs/guide/boxes.md says what that costs, and what does not
// take boxes.
#ifndef WEIR_BOX_H
#define WEIR_BOX_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// A box of bytes: `slices` slices of `rows` rows of `width` bytes. Two slices are the third dimension; a rectangle has
// one. The struct never changes.
typedef struct weir_box {
  uint64_t width;       // bytes of a row, at least 1
  uint64_t pitch;       // bytes from the first byte of a row to that of the next; at least `width`
  uint64_t rows;        // 0 counts as 1
  uint64_t slice_pitch; // bytes from slice to slice; at least rows * pitch. Not used if there is one slice
  uint64_t slices;      // 0 counts as 1
} weir_box;

// Make an argument of weir_submit and weir_graph_add. The task reads, overwrites or updates the box whose first byte is
// byte `offset` of the buffer. The argument keeps the pointer, and the call that takes the argument copies the box.
// Errors of those calls: INVALID_ARGUMENT (a box that breaks the rules above; two boxes of one task that overlap, at
// least one of which is written, and that differ in place, form or mode), OUT_OF_RANGE (the box leaves its buffer).
WEIR_API weir_arg weir_reads_box(weir_buffer *buffer, uint64_t offset, const weir_box *box);
WEIR_API weir_arg weir_writes_box(weir_buffer *buffer, uint64_t offset, const weir_box *box);
WEIR_API weir_arg weir_updates_box(weir_buffer *buffer, uint64_t offset, const weir_box *box);

#ifdef __cplusplus
}
#endif
#endif // WEIR_BOX_H
