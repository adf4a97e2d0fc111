// SPDX-License-Identifier: Apache-2.0
//
// The serial reference: the operators as plain loops over the pixels of a picture, without Weir.
#ifndef TONEMAP_REFERENCE_H
#define TONEMAP_REFERENCE_H

#include "picture.h"
#include "tone.h"

typedef enum tone_operator { TONE_REINHARD, TONE_DURAND } tone_operator;

// A rectangle of a picture.
typedef struct tone_crop {
  int32_t x, y, width, height;
} tone_crop;

// Fills in a Gaussian's weights for the distances -radius to radius; its standard deviation is half the radius.
void tone_gaussian(int32_t radius, float out_weights[2 * TONE_MAX_RADIUS + 1]);

// Maps a rectangle of the picture, as if it were all there is. `out_pixels` has room for its pixels, of three bytes each.
// False, with a message on stderr: no memory.
bool reference_map(const picture *in, tone_crop crop, tone_operator kind, tone_settings settings, uint8_t *out_pixels);

#endif // TONEMAP_REFERENCE_H
