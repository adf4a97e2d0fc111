// SPDX-License-Identifier: Apache-2.0
//
// Geometry of boxes (weir/box.h): pure functions.
//
// The bytes of a buffer get coordinates by a layout: byte a is in slice a / slice_pitch, row (a % slice_pitch) / pitch and
// column (a % slice_pitch) % pitch. A box of the layout's pitches is a cell: an interval of slices, one of rows and one of
// columns. Any other range or box is a few cells: a range at most three in one slice, and two more across slices; a
// box that wraps round the end of a row two; a box of other pitches some for each of its rows.
#ifndef WEIR_WINDOW_BOX_H
#define WEIR_WINDOW_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/box.h"

enum { WEIR__SLICE = 0, WEIR__ROW = 1, WEIR__COLUMN = 2, WEIR__AXES = 3 };

typedef struct weir__cell {
  uint64_t lo[WEIR__AXES], hi[WEIR__AXES];
} weir__cell;

#define WEIR__NO_SLICES UINT64_MAX

typedef struct weir__box_layout {
  uint64_t pitch;
  uint64_t slice_pitch; // NO_SLICES: there is one slice
  uint64_t bytes;       // of the buffer
} weir__box_layout;

// Checks a box and gives its plain form: counts of at least 1, `slice_pitch` 0 for one slice, two slices or more of one row
// as rows. `*out_bytes`: from its first to its last byte. Returns what is wrong with it, or NULL. If all its bytes are
// contiguous, `out_box->rows` is 1.
const char *weir__box_take(const weir_box *given, weir_box *out_box, uint64_t *out_bytes);

// The bytes from the first to the last one of a box in plain form.
static inline uint64_t weir__box_bytes(const weir_box *box) {
  return (box->slices - 1) * box->slice_pitch + (box->rows - 1) * box->pitch + box->width;
}

// How many rows a stretch [lo, hi) or a box in plain form that begins at `lo` has, and where one of them is.
static inline uint64_t weir__box_row_count(const weir_box *box) {
  return box == NULL ? 1 : box->rows * box->slices;
}
static inline uint64_t weir__box_row(uint64_t lo, uint64_t hi, const weir_box *box, uint64_t index, uint64_t *out_end) {
  uint64_t slice = box == NULL ? 0 : index / box->rows;
  uint64_t at = box == NULL ? lo : lo + slice * box->slice_pitch + (index - slice * box->rows) * box->pitch;
  *out_end = box == NULL ? hi : at + box->width;
  return at;
}

static inline bool weir__box_is_same(const weir_box *a, const weir_box *b) {
  return a->width == b->width && a->pitch == b->pitch && a->rows == b->rows && a->slice_pitch == b->slice_pitch &&
         a->slices == b->slices;
}

// Whether two stretches of a buffer have a byte in common. Each is a range [lo, hi), or a box in plain form that begins at
// `lo`. O(1), but for boxes of different pitches: one step a row.
bool weir__box_overlaps(uint64_t a_lo, uint64_t a_hi, const weir_box *a, uint64_t b_lo, uint64_t b_hi,
                        const weir_box *b);

// The layout in which a box in plain form is a cell.
static inline weir__box_layout weir__box_layout_of(const weir_box *box, uint64_t bytes) {
  return (weir__box_layout){
      .pitch = box->pitch, .slice_pitch = box->slices > 1 ? box->slice_pitch : WEIR__NO_SLICES, .bytes = bytes};
}

// Whether the box has the layout's pitches.
static inline bool weir__box_fits(const weir__box_layout *layout, const weir_box *box) {
  return box->pitch == layout->pitch && (box->slices == 1 || box->slice_pitch == layout->slice_pitch);
}

// The cell of a box that fits. False: it is more than one.
static inline bool weir__box_cell(const weir__box_layout *layout, uint64_t offset, const weir_box *box,
                                  weir__cell *out_cell) {
  uint64_t slice = 0, in_slice = offset, slice_end = layout->bytes;
  if (layout->slice_pitch != WEIR__NO_SLICES) {
    slice = offset / layout->slice_pitch;
    in_slice = offset - slice * layout->slice_pitch;
    slice_end = layout->slice_pitch;
  }
  uint64_t row = in_slice / layout->pitch, column = in_slice - row * layout->pitch;
  if (column + box->width > layout->pitch || in_slice + (box->rows - 1) * layout->pitch + box->width > slice_end)
    return false;
  *out_cell =
      (weir__cell){.lo = {slice, row, column}, .hi = {slice + box->slices, row + box->rows, column + box->width}};
  return true;
}

// Calls `visit` for the cells that a range [lo, hi), or a box in plain form that begins at `lo`, is made of. It returns
// whether to go on. False: it did not go on to the end.
typedef bool (*weir__cell_visit)(void *user, const weir__cell *cell);
bool weir__box_cells(const weir__box_layout *layout, uint64_t lo, uint64_t hi, const weir_box *box,
                     weir__cell_visit visit, void *user);

// The range from the first to the last byte of a cell.
void weir__cell_range(const weir__box_layout *layout, const weir__cell *cell, uint64_t *out_lo, uint64_t *out_hi);

static inline bool weir__cells_overlap(const weir__cell *a, const weir__cell *b) {
  return a->lo[0] < b->hi[0] && b->lo[0] < a->hi[0] && a->lo[1] < b->hi[1] && b->lo[1] < a->hi[1] &&
         a->lo[2] < b->hi[2] && b->lo[2] < a->hi[2];
}

static inline bool weir__cell_contains(const weir__cell *outer, const weir__cell *inner) {
  return outer->lo[0] <= inner->lo[0] && inner->hi[0] <= outer->hi[0] && outer->lo[1] <= inner->lo[1] &&
         inner->hi[1] <= outer->hi[1] && outer->lo[2] <= inner->lo[2] && inner->hi[2] <= outer->hi[2];
}

#endif // WEIR_WINDOW_BOX_H
