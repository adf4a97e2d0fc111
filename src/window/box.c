// SPDX-License-Identifier: Apache-2.0
#include "window/box.h"

static bool extent(const weir_box *box, uint64_t *out_bytes) {
  uint64_t rows, slices;
  return !__builtin_mul_overflow(box->rows - 1, box->pitch, &rows) &&
         !__builtin_mul_overflow(box->slices - 1, box->slice_pitch, &slices) &&
         !__builtin_add_overflow(rows, box->width, &rows) && !__builtin_add_overflow(rows, slices, out_bytes);
}

const char *weir__box_take(const weir_box *given, weir_box *out_box, uint64_t *out_bytes) {
  weir_box box = *given;
  if (box.rows == 0) box.rows = 1;
  if (box.slices == 0) box.slices = 1;
  if (box.width == 0) return "its rows are empty";
  if (box.width > box.pitch) return "its rows are wider than its pitch";
  uint64_t slice;
  if (box.slices == 1)
    box.slice_pitch = 0;
  else if (__builtin_mul_overflow(box.rows, box.pitch, &slice) || slice > box.slice_pitch)
    return "its slices are larger than its slice pitch";
  if (!extent(&box, out_bytes)) return "it is larger than any buffer";
  if (box.rows == 1 && box.slices > 1)
    box = (weir_box){.width = box.width, .pitch = box.slice_pitch, .rows = box.slices, .slices = 1};
  bool whole_rows = box.width == box.pitch && (box.slices == 1 || box.rows * box.pitch == box.slice_pitch);
  if (whole_rows) box = (weir_box){.width = *out_bytes, .pitch = *out_bytes, .rows = 1, .slices = 1};
  *out_box = box;
  return NULL;
}

// Of `count` stretches of `bytes` bytes, at distances of `pitch` from `first` on: the first one that ends behind `at`.
static uint64_t first_behind(uint64_t at, uint64_t first, uint64_t bytes, uint64_t pitch) {
  return at < first + bytes ? 0 : (at - first - bytes) / pitch + 1;
}

static bool range_meets_rows(uint64_t lo, uint64_t hi, uint64_t first, const weir_box *box) {
  uint64_t row = first_behind(lo, first, box->width, box->pitch);
  return row < box->rows && first + row * box->pitch < hi;
}

static bool range_meets(uint64_t lo, uint64_t hi, uint64_t first, const weir_box *box) {
  if (box->slices == 1) return range_meets_rows(lo, hi, first, box);
  uint64_t slice = first_behind(lo, first, (box->rows - 1) * box->pitch + box->width, box->slice_pitch);
  // The range ends in this slice, or it has the first byte of the next one.
  for (uint64_t end = slice + 2; slice < end && slice < box->slices; slice++) {
    if (range_meets_rows(lo, hi, first + slice * box->slice_pitch, box)) return true;
  }
  return false;
}

// Rows of equal pitch, where those of `b` begin `behind` bytes behind those of `a`.
static bool rows_meet(const weir_box *a, const weir_box *b, uint64_t behind) {
  uint64_t row = behind / a->pitch, column = behind - row * a->pitch;
  return (column < a->width && row < a->rows) || (column + b->width > a->pitch && row + 1 < a->rows);
}

static bool same_layout_meets(const weir_box *a, const weir_box *b, uint64_t behind) {
  if (a->slices == 1 && b->slices == 1) return rows_meet(a, b, behind);
  uint64_t pitch = a->slices > 1 ? a->slice_pitch : b->slice_pitch;
  uint64_t slice = behind / pitch, rest = behind - slice * pitch;
  return (slice < a->slices && rows_meet(a, b, rest)) || (slice + 1 < a->slices && rows_meet(b, a, pitch - rest));
}

static bool by_rows(uint64_t a_lo, const weir_box *a, uint64_t b_lo, const weir_box *b) {
  for (uint64_t slice = 0; slice < a->slices; slice++) {
    for (uint64_t row = 0; row < a->rows; row++) {
      uint64_t at = a_lo + slice * a->slice_pitch + row * a->pitch;
      if (range_meets(at, at + a->width, b_lo, b)) return true;
    }
  }
  return false;
}

bool weir__box_overlaps(uint64_t a_lo, uint64_t a_hi, const weir_box *a, uint64_t b_lo, uint64_t b_hi,
                        const weir_box *b) {
  if (a_lo >= b_hi || b_lo >= a_hi) return false;
  if (a == NULL && b == NULL) return true;
  if (a == NULL) return range_meets(a_lo, a_hi, b_lo, b);
  if (b == NULL) return range_meets(b_lo, b_hi, a_lo, a);
  bool same_slices = a->slices == 1 || b->slices == 1 || a->slice_pitch == b->slice_pitch;
  // A box of one slice must lie between the slices of the other as one of its own would.
  uint64_t slice_pitch = a->slices > 1 ? a->slice_pitch : b->slices > 1 ? b->slice_pitch : UINT64_MAX;
  bool fits = (a->rows - 1) * a->pitch + a->width <= slice_pitch && (b->rows - 1) * b->pitch + b->width <= slice_pitch;
  if (a->pitch == b->pitch && same_slices && fits)
    return a_lo <= b_lo ? same_layout_meets(a, b, b_lo - a_lo) : same_layout_meets(b, a, a_lo - b_lo);
  return a->rows * a->slices <= b->rows * b->slices ? by_rows(a_lo, a, b_lo, b) : by_rows(b_lo, b, a_lo, a);
}

// ---------------------------------------------------------------------------------------------------------------

typedef struct cells {
  const weir__box_layout *layout;
  weir__cell_visit visit;
  void *user;
  uint64_t slices; // each stretch is there again in so many slices
} cells;

static bool emit(const cells *self, uint64_t slice, uint64_t row, uint64_t row_end, uint64_t column,
                 uint64_t column_end) {
  const weir__cell cell = {.lo = {slice, row, column}, .hi = {slice + self->slices, row_end, column_end}};
  return self->visit(self->user, &cell);
}

// `rows` rows of `width` bytes, at most a pitch, which are all in one slice.
static bool emit_rows(const cells *self, uint64_t slice, uint64_t in_slice, uint64_t width, uint64_t rows) {
  uint64_t pitch = self->layout->pitch, row = in_slice / pitch, column = in_slice - row * pitch;
  if (column + width <= pitch) return emit(self, slice, row, row + rows, column, column + width);
  return emit(self, slice, row, row + rows, column, pitch) &&
         emit(self, slice, row + 1, row + 1 + rows, 0, column + width - pitch);
}

// A stretch of one slice. No cell has places in a last row that is shorter than the pitch: users of such would never be
// overwritten.
static bool emit_stretch(const cells *self, uint64_t slice, uint64_t lo, uint64_t hi) {
  uint64_t pitch = self->layout->pitch, row = lo / pitch, column = lo - row * pitch;
  uint64_t last = (hi - 1) / pitch, column_end = hi - last * pitch;
  if (row == last) return emit(self, slice, row, row + 1, column, column_end);
  if (column != 0 && !emit(self, slice, row, row + 1, column, pitch)) return false;
  if (column != 0) row++;
  if (column_end == pitch) return emit(self, slice, row, last + 1, 0, pitch);
  return (row == last || emit(self, slice, row, last, 0, pitch)) && emit(self, slice, last, last + 1, 0, column_end);
}

static bool emit_range(const cells *self, uint64_t lo, uint64_t hi) {
  const weir__box_layout *layout = self->layout;
  if (layout->slice_pitch == WEIR__NO_SLICES) return emit_stretch(self, 0, lo, hi);
  uint64_t pitch = layout->slice_pitch, slice = lo / pitch, last = (hi - 1) / pitch;
  uint64_t first = lo - slice * pitch, end = hi - last * pitch;
  if (slice == last) return emit_stretch(self, slice, first, end);
  if (first != 0) {
    if (!emit_stretch(self, slice, first, pitch)) return false;
    slice++;
  }
  uint64_t whole_end = end == pitch ? last + 1 : last;
  if (slice < whole_end) {
    cells whole = *self;
    whole.slices += whole_end - slice - 1; // more than one only if nothing is there again: that is at most a slice long
    if (!emit_stretch(&whole, slice, 0, pitch)) return false;
  }
  return end == pitch || emit_stretch(self, last, 0, end);
}

// `rows` rows at the layout's pitch.
static bool emit_box(const cells *self, uint64_t at, uint64_t width, uint64_t rows) {
  const weir__box_layout *layout = self->layout;
  if (rows == 1) return emit_range(self, at, at + width);
  if (layout->slice_pitch == WEIR__NO_SLICES) return emit_rows(self, 0, at, width, rows);
  while (rows > 0) {
    uint64_t slice = at / layout->slice_pitch, in_slice = at - slice * layout->slice_pitch;
    uint64_t rest = layout->slice_pitch - in_slice, fit = rest < width ? 0 : (rest - width) / layout->pitch + 1;
    if (fit > rows) fit = rows;
    if (!(fit == 0 ? emit_range(self, at, at + width) : emit_rows(self, slice, in_slice, width, fit))) return false;
    if (fit == 0) fit = 1;
    at += fit * layout->pitch;
    rows -= fit;
  }
  return true;
}

bool weir__box_cells(const weir__box_layout *layout, uint64_t lo, uint64_t hi, const weir_box *box,
                     weir__cell_visit visit, void *user) {
  cells self = {.layout = layout, .visit = visit, .user = user, .slices = 1};
  if (box == NULL) return emit_range(&self, lo, hi);
  // Which steps of the box are steps of the layout; all others are taken here.
  uint64_t rows = box->rows, slices = box->slices, cell_rows = 1;
  if (box->pitch == layout->pitch) {
    cell_rows = rows;
    rows = 1;
  } else if (box->pitch == layout->slice_pitch) {
    self.slices = rows;
    rows = 1;
  }
  if (slices > 1 && box->slice_pitch == layout->slice_pitch) {
    self.slices = slices;
    slices = 1;
  } else if (slices > 1 && box->slice_pitch == layout->pitch) {
    cell_rows = slices;
    slices = 1;
  }
  for (uint64_t slice = 0; slice < slices; slice++) {
    for (uint64_t row = 0; row < rows; row++) {
      uint64_t at = lo + slice * box->slice_pitch + row * box->pitch;
      if (!emit_box(&self, at, box->width, cell_rows)) return false;
    }
  }
  return true;
}

void weir__cell_range(const weir__box_layout *layout, const weir__cell *cell, uint64_t *out_lo, uint64_t *out_hi) {
  bool slices = layout->slice_pitch != WEIR__NO_SLICES;
  uint64_t first = slices ? cell->lo[WEIR__SLICE] * layout->slice_pitch : 0;
  uint64_t last = slices ? (cell->hi[WEIR__SLICE] - 1) * layout->slice_pitch : 0;
  *out_lo = first + cell->lo[WEIR__ROW] * layout->pitch + cell->lo[WEIR__COLUMN];
  uint64_t hi = last + (cell->hi[WEIR__ROW] - 1) * layout->pitch + cell->hi[WEIR__COLUMN];
  *out_hi = hi < layout->bytes ? hi : layout->bytes;
}
