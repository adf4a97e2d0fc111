// SPDX-License-Identifier: Apache-2.0
//
// The frames of a sequence: rectangles on a way through a picture.
#ifndef TONEMAP_FRAME_H
#define TONEMAP_FRAME_H

#include "reference.h"

enum { FRAME_MAX_PATH = 4096 };

// Where the rectangle is in a frame: on its way from the upper left corner to the lower right one. A single frame is in the
// middle. The rectangle is no larger than the picture.
void frame_move(tone_crop *crop, const picture *in, int frame, int frames);

// The file of a frame: `out`, which ends in .png, or, one of several, OUT-0001.png and so on. False, with a message: too long.
bool frame_path(const char *out, int frame, int frames, char out_path[FRAME_MAX_PATH]);

// Whether a frame's pixels, in rows `a_stride` bytes apart, are those of `b`, whose rows follow each other.
bool frame_equals(tone_crop crop, const uint8_t *a, uint64_t a_stride, const uint8_t *b);

#endif // TONEMAP_FRAME_H
