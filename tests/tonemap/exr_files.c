// SPDX-License-Identifier: Apache-2.0
#include "exr_files.h"

#include <ImfCRgbaFile.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

float exr_number(int x, int y, int channel) {
  return (float)(x + 3 * y + 7 * channel) / 16;
}

static void fill(ImfRgba *pixels) {
  for (int y = 0; y < EXR_HEIGHT; y++) {
    for (int x = 0; x < EXR_WIDTH; x++) {
      ImfRgba *pixel = &pixels[y * EXR_WIDTH + x];
      ImfFloatToHalf(exr_number(x, y, 0), &pixel->r);
      ImfFloatToHalf(exr_number(x, y, 1), &pixel->g);
      ImfFloatToHalf(exr_number(x, y, 2), &pixel->b);
      ImfFloatToHalf(1, &pixel->a);
    }
  }
}

static ImfHeader *header_of(int compression, int x, int y) {
  ImfHeader *header = ImfNewHeader();
  assert_non_null(header);
  ImfHeaderSetDisplayWindow(header, x, y, x + EXR_WIDTH - 1, y + EXR_HEIGHT - 1);
  ImfHeaderSetDataWindow(header, x, y, x + EXR_WIDTH - 1, y + EXR_HEIGHT - 1);
  ImfHeaderSetCompression(header, compression);
  return header;
}

static void write_channels(const char *path, int compression, int x, int y, int channels) {
  ImfRgba pixels[EXR_WIDTH * EXR_HEIGHT];
  fill(pixels);
  ImfHeader *header = header_of(compression, x, y);
  ImfOutputFile *file = ImfOpenOutputFile(path, header, channels);
  assert_non_null(file);
  uintptr_t origin = (uintptr_t)pixels - sizeof *pixels * ((uintptr_t)x + (uintptr_t)y * EXR_WIDTH);
  assert_true(ImfOutputSetFrameBuffer(file, (ImfRgba *)origin, 1, EXR_WIDTH));
  assert_true(ImfOutputWritePixels(file, EXR_HEIGHT));
  assert_true(ImfCloseOutputFile(file));
  ImfDeleteHeader(header);
}

void exr_write(const char *path, int compression, int x, int y) {
  write_channels(path, compression, x, y, IMF_WRITE_RGBA);
}

void exr_write_gray(const char *path) {
  write_channels(path, IMF_ZIP_COMPRESSION, 0, 0, IMF_WRITE_Y);
}

void exr_write_tiled(const char *path) {
  ImfRgba pixels[EXR_WIDTH * EXR_HEIGHT];
  fill(pixels);
  ImfHeader *header = header_of(IMF_ZIP_COMPRESSION, 0, 0);
  ImfTiledOutputFile *file = ImfOpenTiledOutputFile(path, header, IMF_WRITE_RGB, 16, 16, IMF_ONE_LEVEL, IMF_ROUND_DOWN);
  assert_non_null(file);
  assert_true(ImfTiledOutputSetFrameBuffer(file, pixels, 1, EXR_WIDTH));
  assert_true(ImfTiledOutputWriteTiles(file, 0, (EXR_WIDTH - 1) / 16, 0, (EXR_HEIGHT - 1) / 16, 0, 0));
  assert_true(ImfCloseTiledOutputFile(file));
  ImfDeleteHeader(header);
}

// Bytes of a file that grows.
typedef struct byte_list {
  uint8_t bytes[4096];
  size_t count;
} byte_list;

static void put(byte_list *list, const void *bytes, size_t count) {
  assert_true(list->count + count <= sizeof list->bytes);
  memcpy(list->bytes + list->count, bytes, count);
  list->count += count;
}

static void put_number(byte_list *list, uint32_t number) {
  const uint8_t bytes[] = {(uint8_t)number, (uint8_t)(number >> 8), (uint8_t)(number >> 16), (uint8_t)(number >> 24)};
  put(list, bytes, sizeof bytes);
}

static void put_attribute(byte_list *list, const char *name, const char *type, size_t count) {
  put(list, name, strlen(name) + 1);
  put(list, type, strlen(type) + 1);
  put_number(list, (uint32_t)count);
}

static void put_channels(byte_list *list, const exr_header *header) {
  size_t count = strlen(header->channels);
  put_attribute(list, "channels", "chlist", count * 18 + 1);
  for (size_t i = 0; i < count; i++) {
    put(list, (const char[]){header->channels[i], 0}, 2);
    put_number(list, header->type);
    put_number(list, 0);
    put_number(list, header->sampling);
    put_number(list, header->sampling);
  }
  put(list, "", 1);
}

static void put_window(byte_list *list, const char *name, const exr_header *header) {
  put_attribute(list, name, "box2i", 16);
  put_number(list, (uint32_t)header->left);
  put_number(list, (uint32_t)header->top);
  put_number(list, (uint32_t)header->right);
  put_number(list, (uint32_t)header->bottom);
}

static void put_part(byte_list *list, const exr_header *header, const char *name) {
  put_channels(list, header);
  put_attribute(list, "compression", "compression", 1);
  put(list, &header->compression, 1);
  put_window(list, "dataWindow", header);
  put_window(list, "displayWindow", header);
  put_attribute(list, "lineOrder", "lineOrder", 1);
  put(list, "", 1);
  put_attribute(list, "pixelAspectRatio", "float", 4);
  put_number(list, 0x3f800000);
  put_attribute(list, "screenWindowCenter", "v2f", 8);
  put_number(list, 0);
  put_number(list, 0);
  put_attribute(list, "screenWindowWidth", "float", 4);
  put_number(list, 0x3f800000);
  if (header->storage) {
    put_attribute(list, "type", "string", strlen(header->storage));
    put(list, header->storage, strlen(header->storage));
    put_attribute(list, "name", "string", strlen(name));
    put(list, name, strlen(name));
    put_attribute(list, "version", "int", 4);
    put_number(list, 1);
    put_attribute(list, "chunkCount", "int", 4);
    put_number(list, 8);
  }
  put(list, "", 1);
}

void exr_write_header(const char *path, const exr_header *header) {
  byte_list list = {.count = 0};
  put_number(&list, IMF_MAGIC);
  put_number(&list, 2 | header->flags);
  put_part(&list, header, "one");
  if (header->flags & 0x1000) put_part(&list, header, "two");
  if (header->flags & 0x1000) put(&list, "", 1);
  file_store(path, list.bytes, sizeof list.bytes);
}

uint8_t *file_load(const char *path, size_t *out_bytes) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  *out_bytes = (size_t)ftell(file);
  rewind(file);
  uint8_t *bytes = malloc(*out_bytes + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *out_bytes, file), *out_bytes);
  fclose(file);
  return bytes;
}

void file_store(const char *path, const uint8_t *bytes, size_t count) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, count, file), count);
  assert_int_equal(fclose(file), 0);
}
