// SPDX-License-Identifier: Apache-2.0
#include <png.h>
#include <stdio.h>
#include <stdlib.h>

#include "picture.h"

typedef struct png_output {
  const char *path;
} png_output;

static void say(png_structp png, png_const_charp text) {
  const png_output *output = png_get_error_ptr(png);
  fprintf(stderr, "tonemap: %s: %s\n", output->path, text);
}

static void fail(png_structp png, png_const_charp text) {
  say(png, text);
  png_longjmp(png, 1);
}

static bool write_rows(png_structp png, png_infop info, FILE *file, int32_t width, int32_t height,
                       const uint8_t *pixels, uint64_t stride) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_init_io(png, file);
  png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
  png_write_info(png, info);
  for (int32_t y = 0; y < height; y++) png_write_row(png, pixels + (uint64_t)y * stride);
  png_write_end(png, info);
  return true;
}

bool picture_encode_png(FILE *file, const char *path, int32_t width, int32_t height, const uint8_t *pixels,
                        uint64_t stride) {
  png_output output = {path};
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &output, fail, say);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  bool good = info && write_rows(png, info, file, width, height, pixels, stride);
  png_destroy_write_struct(&png, &info);
  return good;
}

bool picture_write_png(const char *path, int32_t width, int32_t height, const uint8_t *pixels, uint64_t stride) {
  FILE *file = fopen(path, "wb");
  if (!file) {
    fprintf(stderr, "tonemap: %s: cannot be written\n", path);
    return false;
  }
  bool good = picture_encode_png(file, path, width, height, pixels, stride);
  bool closed = fclose(file) == 0;
  if (good && !closed) fprintf(stderr, "tonemap: %s: cannot be written to the end\n", path);
  if (!good || !closed) remove(path);
  return good && closed;
}
