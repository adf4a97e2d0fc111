// SPDX-License-Identifier: Apache-2.0
#include "engine/boxes.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "engine/check.h"
#include "engine/transfer.h"

typedef unsigned long long ull;

uint64_t weir__arg_bytes(const weir_arg *arg, bool *out_box) {
  *out_box = false;
  if (arg->shape == WEIR_RANGE) return arg->bytes;
  weir_box box;
  uint64_t bytes = 0;
  weir__box_take(arg->value, &box, &bytes);
  *out_box = box.rows > 1;
  return bytes;
}

bool weir__arg_same_shape(const weir_arg *a, const weir_arg *b) {
  if (a->shape != b->shape) return false;
  if (a->shape == WEIR_RANGE) return true;
  weir_box box, other;
  uint64_t bytes;
  return a->value != NULL && b->value != NULL && weir__box_take(a->value, &box, &bytes) == NULL &&
         weir__box_take(b->value, &other, &bytes) == NULL && weir__box_is_same(&box, &other);
}

weir_status weir__check_box(const weir_arg *arg, uint32_t index, weir_box *out_box, uint64_t *out_bytes,
                            bool *out_is_range) {
  if (arg->shape != WEIR_BOX)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, ", argument %u: %u is no shape", index, arg->shape);
  if (arg->value == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, ", argument %u: the box at byte %llu of buffer %llu '%s' is NULL",
                       index, (ull)arg->offset, (ull)arg->buffer->id, arg->buffer->label);
  const weir_box *box = arg->value;
  const char *wrong = weir__box_take(box, out_box, out_bytes);
  if (wrong != NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       ", argument %u: the box at byte %llu of buffer %llu '%s', of %llu slices at %llu bytes of %llu "
                       "rows at %llu bytes of %llu bytes: %s",
                       index, (ull)arg->offset, (ull)arg->buffer->id, arg->buffer->label, (ull)box->slices,
                       (ull)box->slice_pitch, (ull)box->rows, (ull)box->pitch, (ull)box->width, wrong);
  *out_is_range = out_box->rows == 1;
  return WEIR_OK;
}

static inline const weir_box *form_of(const weir__access *access, const weir_box *boxes) {
  return access->box == 0 ? NULL : &boxes[access->box - 1];
}

static inline bool disagree(const weir__access *a, const weir__access *b, const weir_box *boxes) {
  if (a->buffer != b->buffer || (a->mode == WEIR_READ && b->mode == WEIR_READ)) return false;
  const weir_box *x = form_of(a, boxes), *y = form_of(b, boxes);
  if (!weir__box_overlaps(a->lo, a->hi, x, b->lo, b->hi, y)) return false;
  if (a->mode != b->mode || a->lo != b->lo || a->hi != b->hi || (x == NULL) != (y == NULL)) return true;
  return x != NULL && !weir__box_is_same(x, y);
}

static weir_status report(const weir__access *a, const weir__access *b) {
  return weir__error(
      WEIR_ERROR_INVALID_ARGUMENT,
      ": two arguments overlap and disagree on buffer %llu '%s': %s of %s bytes [%llu, %llu) and %s of %s "
      "bytes [%llu, %llu)",
      (ull)a->buffer->id, a->buffer->label, weir__mode_name((weir_mode)a->mode), a->box == 0 ? "all" : "a box in",
      (ull)a->lo, (ull)a->hi, weir__mode_name((weir_mode)b->mode), b->box == 0 ? "all" : "a box in", (ull)b->lo,
      (ull)b->hi);
}

static int by_place(const void *left, const void *right) {
  const weir__access *a = *(const weir__access *const *)left, *b = *(const weir__access *const *)right;
  if (a->buffer->id != b->buffer->id) return a->buffer->id < b->buffer->id ? -1 : 1;
  return a->lo < b->lo ? -1 : a->lo > b->lo;
}

// In order of place, each is compared with those that begin before it ends.
static __attribute__((noinline)) weir_status check_many(const weir__access *accesses, uint32_t count,
                                                        const weir_box *boxes) {
  const weir__access *sorted[WEIR_MAX_ARGS];
  for (uint32_t i = 0; i < count; i++) sorted[i] = &accesses[i];
  qsort(sorted, count, sizeof sorted[0], by_place);
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t j = i + 1; j < count && sorted[j]->buffer == sorted[i]->buffer; j++) {
      if (sorted[j]->lo >= sorted[i]->hi) break;
      if (disagree(sorted[i], sorted[j], boxes)) return report(sorted[i], sorted[j]);
    }
  }
  return WEIR_OK;
}

weir_status weir__check_box_agreement(const weir__access *accesses, uint32_t count, const weir_box *boxes) {
  enum { FEW = 16 };
  if (count > FEW) return check_many(accesses, count, boxes);
  for (uint32_t i = 1; i < count; i++) {
    for (uint32_t j = 0; j < i; j++) {
      if (disagree(&accesses[j], &accesses[i], boxes)) return report(&accesses[j], &accesses[i]);
    }
  }
  return WEIR_OK;
}

static_assert(WEIR_MAX_ARGS * (sizeof(weir__access) + sizeof(weir_box)) / 8 <= UINT16_MAX, "weir__access.box has room");

void *weir__keep_boxes(const weir_context *context, weir__access *accesses, const weir__checked *checked) {
  weir_box *boxes = (weir_box *)(void *)(accesses + checked->access_count);
  memcpy(boxes, context->order.boxes, checked->box_count * sizeof *boxes);
  for (uint32_t i = 0; i < checked->access_count; i++) {
    weir__access *access = &accesses[i];
    if (access->box != 0) access->box = (uint16_t)(((uintptr_t)&boxes[access->box - 1] - (uintptr_t)access) / 8);
  }
  return boxes + checked->box_count;
}

weir_status weir__refuse_box(const weir_arg *arg, uint32_t index, const char *what) {
  return weir__error(
      WEIR_ERROR_INVALID_ARGUMENT,
      "%s, argument %u: a box cannot be used here, only by weir_submit and weir_graph_add; this one begins "
      "at byte %llu of buffer %llu '%s'",
      what, index, (ull)arg->offset, arg->buffer == NULL ? 0 : (ull)arg->buffer->id,
      arg->buffer == NULL ? "" : arg->buffer->label);
}

bool weir__prepare_boxes(weir_context *context, const weir__access *accesses, uint32_t count) {
  weir__range_pool *ranges = &context->order.ranges;
  const weir__liveness *live = &context->host.window.live;
  weir__box_pool_begin(&ranges->boxes, live);
  for (uint32_t i = 0; i < count; i++) {
    const weir_box *box = weir__access_box(&accesses[i]);
    if (box != NULL && !weir__buffer_use_boxes(accesses[i].buffer, ranges, live, box)) return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    const weir__access *access = &accesses[i];
    weir_buffer *buffer = access->buffer;
    if (!buffer->boxed) continue;
    weir_mode mode = (weir_mode)access->mode;
    if (!weir__buffer_prepare(buffer, live, mode, access->lo, access->hi, weir__access_box(access))) return false;
    if (!weir__is_written_back(buffer, mode, access->space)) continue;
    bool merges = count >= context->host.window.size; // copies back may be of all the buffer
    uint64_t lo = merges ? 0 : access->lo, hi = merges ? buffer->bytes : access->hi;
    if (!weir__buffer_prepare(buffer, live, WEIR_READ, lo, hi, NULL)) return false;
  }
  return true;
}

bool weir__prepare_read(weir_context *context, weir_buffer *buffer, uint64_t lo, uint64_t hi) {
  const weir__liveness *live = &context->host.window.live;
  if (!buffer->boxed) return true;
  weir__box_pool_begin(&context->order.ranges.boxes, live);
  return weir__buffer_prepare(buffer, live, WEIR_READ, lo, hi, NULL);
}
