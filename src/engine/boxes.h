// SPDX-License-Identifier: Apache-2.0
//
// Arguments that are boxes (weir/box.h): checked, kept with their task, and prepared for.
#ifndef WEIR_ENGINE_BOXES_H
#define WEIR_ENGINE_BOXES_H

#include "engine/submission.h"

// The length of an argument of a buffer, which was checked: arg->bytes, or of a box from its first to its last byte. `*out_box`:
// it is a box with bytes between its rows.
uint64_t weir__arg_bytes(const weir_arg *arg, bool *out_box);

// Whether two arguments of buffers have the same shape, and the same box if it is one.
bool weir__arg_same_shape(const weir_arg *a, const weir_arg *b);

// Checks an argument of a shape other than WEIR_RANGE, whose buffer was checked. Writes the plain form of its box, and how
// many bytes lie between its first and last one. If all its bytes are contiguous, `*out_is_range` is set: it is a range.
weir_status weir__check_box(const weir_arg *arg, uint32_t index, weir_box *out_box, uint64_t *out_bytes,
                            bool *out_is_range);

// In the next two, the `box` of an access is the number of its box among `boxes`, + 1; 0: it is a range.

// Refuses two accesses of a task that overlap and disagree.
weir_status weir__check_box_agreement(const weir__access *accesses, uint32_t count, const weir_box *boxes);

// Copies the context's boxes to the task's payload, right behind the accesses, so that these can lead there. Returns what is
// behind the boxes. Their room was counted among that of values.
void *weir__keep_boxes(const weir_context *context, weir__access *accesses, const weir__checked *checked);

// Refuses a box where there can be none; `what` names the place.
weir_status weir__refuse_box(const weir_arg *arg, uint32_t index, const char *what);

// Makes all that the accesses of a submission need where buffers are used by boxes, copies back included. False: no memory.
bool weir__prepare_boxes(weir_context *context, const weir__access *accesses, uint32_t count);

// The same for a read of one range. O(1) if no buffer is used by boxes.
bool weir__prepare_read(weir_context *context, weir_buffer *buffer, uint64_t lo, uint64_t hi);

#endif // WEIR_ENGINE_BOXES_H
