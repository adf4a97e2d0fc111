// SPDX-License-Identifier: Apache-2.0
//
// OpenEXR's core library (openexr.h) checks the file: its kind, its size, its channels, and that every chunk of scan lines is
// there. Then the library's older C interface (ImfCRgbaFile.h) decodes: as of 3.1 the core library does not know DWA
// compression. That gives half floats, which is all that DWA keeps.
#include <ImfCRgbaFile.h>
#include <openexr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"

enum { LINES = 32 }; // decoded at once

static _Thread_local char message[200]; // of the core library's first error

static void keep_message(exr_const_context_t file, exr_result_t code, const char *text) {
  (void)file, (void)code;
  if (message[0] == '\0') snprintf(message, sizeof message, "%s", text);
}

// `why` may quote a damaged file: what is not printable in it is not printed.
static bool refuse(const char *path, const char *why) {
  char text[400];
  snprintf(text, sizeof text, "%s", why);
  for (char *c = text; *c; c++) {
    if (*c < ' ' || *c > '~') *c = '?';
  }
  fprintf(stderr, "tonemap: %s: %s\n", path, text);
  return false;
}

static bool refuse_code(const char *path, exr_result_t code) {
  const char *why = message[0] != '\0' ? message : exr_get_error_code_as_string(code);
  if (code == EXR_ERR_FILE_BAD_HEADER && message[0] == '\0') why = "not an OpenEXR file, or a damaged one";
  return refuse(path, why);
}

// Whether the channels have R, G and B, as floating-point numbers for every pixel.
static bool check_channels(const char *path, exr_const_context_t file) {
  const exr_attr_chlist_t *channels;
  exr_result_t code = exr_get_channels(file, 0, &channels);
  if (code != EXR_ERR_SUCCESS) return refuse_code(path, code);
  int found = 0;
  for (int i = 0; i < channels->num_channels; i++) {
    const exr_attr_chlist_entry_t *channel = &channels->entries[i];
    if (channel->x_sampling != 1 || channel->y_sampling != 1) return refuse(path, "a channel is subsampled");
    const char *name = channel->name.str;
    if (strcmp(name, "R") != 0 && strcmp(name, "G") != 0 && strcmp(name, "B") != 0) continue;
    if (channel->pixel_type == EXR_PIXEL_UINT) return refuse(path, "the channels R, G and B are integers");
    found++;
  }
  return found == 3 || refuse(path, "the channels R, G and B are needed");
}

// Whether the file has all chunks of its scan lines.
static bool check_chunks(const char *path, exr_const_context_t file, exr_attr_box2i_t window) {
  int32_t lines = 0;
  exr_result_t code = exr_get_scanlines_per_chunk(file, 0, &lines);
  if (code != EXR_ERR_SUCCESS) return refuse_code(path, code);
  if (lines < 1) return refuse(path, "damaged: chunks without scan lines");
  for (int64_t y = window.min.y; y <= window.max.y; y += lines) {
    exr_chunk_info_t chunk;
    code = exr_read_scanline_chunk_info(file, 0, (int)y, &chunk);
    if (code != EXR_ERR_SUCCESS) return refuse_code(path, code);
  }
  return true;
}

static bool check_file(const char *path, exr_const_context_t file, exr_attr_box2i_t *out_window) {
  int parts = 0;
  exr_storage_t storage;
  exr_result_t code = exr_get_count(file, &parts);
  if (code == EXR_ERR_SUCCESS && parts != 1) return refuse(path, "it has several parts");
  if (code == EXR_ERR_SUCCESS) code = exr_get_storage(file, 0, &storage);
  if (code == EXR_ERR_SUCCESS && storage != EXR_STORAGE_SCANLINE) return refuse(path, "it is tiled or deep");
  if (code == EXR_ERR_SUCCESS) code = exr_get_data_window(file, 0, out_window);
  if (code != EXR_ERR_SUCCESS) return refuse_code(path, code);
  int64_t width = (int64_t)out_window->max.x - out_window->min.x + 1;
  int64_t height = (int64_t)out_window->max.y - out_window->min.y + 1;
  if (width < 1 || height < 1 || width > PICTURE_MAX_SIDE || height > PICTURE_MAX_SIDE ||
      width * height > PICTURE_MAX_PIXELS) {
    return refuse(path, "it is empty or too large");
  }
  return check_channels(path, file) && check_chunks(path, file, *out_window);
}

static bool check(const char *path, exr_attr_box2i_t *out_window) {
  exr_context_t file;
  exr_context_initializer_t options = EXR_DEFAULT_CONTEXT_INITIALIZER;
  options.error_handler_fn = keep_message;
  options.flags = EXR_CONTEXT_FLAG_DISABLE_CHUNK_RECONSTRUCTION;
  options.max_image_width = options.max_image_height = PICTURE_MAX_SIDE;
  message[0] = '\0';
  exr_result_t code = exr_start_read(&file, path, &options);
  if (code != EXR_ERR_SUCCESS) return refuse_code(path, code);
  bool good = check_file(path, file, out_window);
  exr_finish(&file);
  return good;
}

// A number that is neither negative nor infinite nor NaN.
static float shown(ImfHalf half) {
  float number = ImfHalfToFloat(half);
  return !(number > 0) ? 0 : number < 65504 ? number : 65504;
}

static bool decode_lines(const char *path, ImfInputFile *file, exr_attr_box2i_t window, ImfRgba *lines, picture *out) {
  size_t width = (size_t)out->width;
  float *to = out->numbers;
  for (int64_t first = window.min.y; first <= window.max.y; first += LINES) {
    int64_t last = first + LINES - 1 < window.max.y ? first + LINES - 1 : window.max.y;
    // The library wants the address of the pixel 0, 0 of the window's coordinates.
    uintptr_t origin = (uintptr_t)lines - sizeof *lines * ((uintptr_t)window.min.x + (uintptr_t)first * width);
    if (!ImfInputSetFrameBuffer(file, (ImfRgba *)origin, 1, width) ||
        !ImfInputReadPixels(file, (int)first, (int)last)) {
      return refuse(path, ImfErrorMessage());
    }
    for (size_t i = 0; i < width * (size_t)(last - first + 1); i++) {
      *to++ = shown(lines[i].r);
      *to++ = shown(lines[i].g);
      *to++ = shown(lines[i].b);
    }
  }
  return true;
}

bool picture_read(const char *path, picture *out_picture) {
  exr_attr_box2i_t window;
  *out_picture = (picture){0};
  if (!check(path, &window)) return false;
  ImfInputFile *file = ImfOpenInputFile(path);
  if (!file) return refuse(path, ImfErrorMessage());
  picture read = {.width = window.max.x - window.min.x + 1, .height = window.max.y - window.min.y + 1};
  size_t pixels = (size_t)read.width * (size_t)read.height;
  ImfRgba *lines = calloc((size_t)read.width * LINES, sizeof *lines);
  read.numbers = calloc(pixels, 3 * sizeof(float));
  bool good = lines && read.numbers ? decode_lines(path, file, window, lines, &read) : refuse(path, "no memory");
  ImfCloseInputFile(file);
  free(lines);
  if (good) *out_picture = read;
  if (!good) picture_release(&read);
  return good;
}

void picture_release(picture *self) {
  free(self->numbers);
  *self = (picture){0};
}
