// SPDX-License-Identifier: Apache-2.0
//
// OpenEXR files for the tests, good ones and such that the example refuses.
#ifndef TONEMAP_EXR_FILES_H
#define TONEMAP_EXR_FILES_H

#include <stddef.h>
#include <stdint.h>

enum { EXR_WIDTH = 9, EXR_HEIGHT = 19 }; // two chunks of ZIP's 16 scan lines

// The red, green or blue (0, 1, 2) of a pixel of the good files; exact as half floats.
float exr_number(int x, int y, int channel);

// Write files, or fail the test. `compression` is one of IMF_..._COMPRESSION; the upper left corner of the data is at x, y.
void exr_write(const char *path, int compression, int x, int y);
void exr_write_tiled(const char *path);
void exr_write_gray(const char *path); // luminance only

// A header, and zeros where the rest should be.
typedef struct exr_header {
  const char *channels;             // a letter each, in alphabetical order
  uint32_t type, sampling;          // of the channels: 0 integers, 1 half, 2 float; 1
  int32_t left, top, right, bottom; // the data window, inclusive
  uint8_t compression;              //
  uint32_t flags;                   // of the version: 0x200 tiled, 0x800 deep, 0x1000 several parts
  const char *storage;              // attribute `type`, or NULL
} exr_header;
void exr_write_header(const char *path, const exr_header *header);

// Reads a whole file (the caller frees it), writes one. Fail the test.
uint8_t *file_load(const char *path, size_t *out_bytes);
void file_store(const char *path, const uint8_t *bytes, size_t count);

#endif // TONEMAP_EXR_FILES_H
