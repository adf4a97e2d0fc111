// SPDX-License-Identifier: Apache-2.0
//
// Pictures in and out: OpenEXR and PNG. Functions that fail print why, with the file's name, to stderr and return false.
#ifndef TONEMAP_PICTURE_H
#define TONEMAP_PICTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { PICTURE_MAX_SIDE = 8192, PICTURE_MAX_PIXELS = 1 << 25 };

// A high-dynamic-range picture: rows of pixels of three numbers, linear red, green and blue, all from 0 to 65504.
typedef struct picture {
  int32_t width, height;
  float *numbers;
} picture;

// Reads the channels R, G and B of an OpenEXR file: one part, scan lines, at most PICTURE_MAX_SIDE pixels wide and high and
// PICTURE_MAX_PIXELS in all; anything else is refused before memory is allocated for pixels. What no display can show
// (negative numbers, NaN) becomes 0. The caller releases the picture.
bool picture_read(const char *path, picture *out_picture);
void picture_release(picture *self);

// Writes `height` rows of `width` pixels of three bytes (sRGB), which are `stride` bytes apart, as a PNG file. What was
// written when it fails is removed.
bool picture_write_png(const char *path, int32_t width, int32_t height, const uint8_t *pixels, uint64_t stride);

// The same into a file that is open; `path` is for messages.
bool picture_encode_png(FILE *file, const char *path, int32_t width, int32_t height, const uint8_t *pixels,
                        uint64_t stride);

#endif // TONEMAP_PICTURE_H
