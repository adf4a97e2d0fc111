// SPDX-License-Identifier: Apache-2.0
//
// The tone mapper's reader of OpenEXR files: right for every compression; a message that names the file, and nothing worse,
// for what is not such a file, is of another kind, too large, cut off anywhere, or damaged anywhere.
#include <ImfCRgbaFile.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "exr_files.h"
#include "picture.h"

static char path[64]; // of the file that is read, which is in memory: there are thousands
static int picture_file, log_file;

static int create_files(void **state) {
  (void)state;
  picture_file = memfd_create("picture", 0);
  log_file = memfd_create("log", 0);
  snprintf(path, sizeof path, "/proc/self/fd/%d", picture_file);
  return picture_file < 0 || log_file < 0;
}

static int close_files(void **state) {
  (void)state;
  close(picture_file);
  return close(log_file);
}

// Reads a file. What goes to stderr meanwhile becomes `out_text`.
static bool read_quietly(const char *file, picture *out_picture, char *out_text, size_t size) {
  fflush(stderr);
  int was = dup(STDERR_FILENO);
  assert_true(was >= 0 && ftruncate(log_file, 0) == 0 && lseek(log_file, 0, SEEK_SET) == 0);
  assert_true(dup2(log_file, STDERR_FILENO) >= 0);
  bool good = picture_read(file, out_picture);
  fflush(stderr);
  assert_true(dup2(was, STDERR_FILENO) >= 0);
  ssize_t length = pread(log_file, out_text, size - 1, 0);
  assert_true(length >= 0);
  out_text[length] = '\0';
  close(was);
  return good;
}

static void expect_refused(const char *file, const char *why) {
  picture read;
  char text[1000];
  if (read_quietly(file, &read, text, sizeof text)) fail_msg("%s was read", file);
  assert_null(read.numbers);
  if (strncmp(text, "tonemap: ", 9) != 0 || !strstr(text, file) || !strstr(text, why)) {
    fail_msg("expected '%s' of %s, not '%s'", why, file, text);
  }
  if (strchr(text, '\n') != text + strlen(text) - 1) fail_msg("more than one line: %s", text);
}

static void expect_right(const picture *read, double tolerance) {
  assert_int_equal(read->width, EXR_WIDTH);
  assert_int_equal(read->height, EXR_HEIGHT);
  const float *number = read->numbers;
  for (int y = 0; y < EXR_HEIGHT; y++) {
    for (int x = 0; x < EXR_WIDTH; x++) {
      for (int channel = 0; channel < 3; channel++, number++) {
        double is = (double)*number, should = (double)exr_number(x, y, channel);
        if (!(fabs(is - should) <= tolerance)) fail_msg("%d %d %d: %g, not %g", x, y, channel, is, should);
      }
    }
  }
}

static void test_compressions(void **state) {
  (void)state;
  for (int compression = IMF_NO_COMPRESSION; compression <= IMF_DWAB_COMPRESSION; compression++) {
    picture read;
    exr_write(path, compression, 0, 0);
    assert_true(picture_read(path, &read));
    expect_right(&read, compression <= IMF_PIZ_COMPRESSION ? 0 : 0.5);
    picture_release(&read);
  }
}

static void test_windows(void **state) {
  (void)state;
  static const int corners[][2] = {{-7, -5}, {100, 3}, {-100000, 70000}, {1 << 29, -(1 << 29)}};
  for (size_t i = 0; i < sizeof corners / sizeof *corners; i++) {
    picture read;
    exr_write(path, IMF_ZIP_COMPRESSION, corners[i][0], corners[i][1]);
    assert_true(picture_read(path, &read));
    expect_right(&read, 0);
    picture_release(&read);
  }
}

static void test_no_exr(void **state) {
  (void)state;
  static const uint8_t text[] = "GIF89a, not what was asked for, and long enough for a header";
  expect_refused("/no/such/file.exr", "No such file");
  expect_refused("/proc/self", "");
  file_store(path, text, sizeof text);
  expect_refused(path, "");
  file_store(path, text, 0);
  expect_refused(path, "");
}

static void test_other_kinds(void **state) {
  (void)state;
  const exr_header usual = {.channels = "BGR", .type = 1, .sampling = 1, .right = 7, .bottom = 7};
  exr_header header = usual;
  exr_write_tiled(path);
  expect_refused(path, "tiled or deep");
  exr_write_gray(path);
  expect_refused(path, "the channels R, G and B are needed");
  header.channels = "AGR";
  exr_write_header(path, &header);
  expect_refused(path, "the channels R, G and B are needed");
  header = usual, header.type = 0;
  exr_write_header(path, &header);
  expect_refused(path, "integers");
  header = usual, header.sampling = 2;
  exr_write_header(path, &header);
  expect_refused(path, "subsampled");
  header = usual, header.flags = 0x800, header.storage = "deepscanline";
  exr_write_header(path, &header);
  expect_refused(path, "tiled or deep");
  header.flags = 0x1000, header.storage = "scanlineimage";
  exr_write_header(path, &header);
  expect_refused(path, "several parts");
}

static void test_no_pixels(void **state) {
  (void)state;
  const exr_header header = {.channels = "BGR", .type = 1, .sampling = 1, .right = 7, .bottom = 7};
  exr_write_header(path, &header);
  expect_refused(path, "");
}

static void test_sizes(void **state) {
  (void)state;
  static const int32_t windows[][4] = {
      {0, 0, INT32_MAX, INT32_MAX},
      {0, 0, INT32_MAX - 1, INT32_MAX - 1},
      {INT32_MIN, INT32_MIN, INT32_MAX, INT32_MAX},
      {INT32_MIN, INT32_MIN, -1, -1},
      {0, 0, PICTURE_MAX_SIDE, 0},
      {0, 0, 0, PICTURE_MAX_SIDE},
      {0, 0, PICTURE_MAX_SIDE - 1, PICTURE_MAX_SIDE - 1},
      {5, 5, 4, 9},
      {5, 5, 9, 4},
      {0, 0, 8000, 4000}, // that much would do, but there is no pixel
  };
  for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
    for (uint8_t compression = 0; compression < 12; compression++) {
      const exr_header header = {.channels = "BGR",
                                 .type = 1,
                                 .sampling = 1,
                                 .compression = compression,
                                 .left = windows[i][0],
                                 .top = windows[i][1],
                                 .right = windows[i][2],
                                 .bottom = windows[i][3]};
      exr_write_header(path, &header);
      expect_refused(path, "");
    }
  }
}

static const int damaged[] = {IMF_NO_COMPRESSION,  IMF_RLE_COMPRESSION, IMF_ZIP_COMPRESSION,
                              IMF_PIZ_COMPRESSION, IMF_B44_COMPRESSION, IMF_DWAB_COMPRESSION};
enum { DAMAGED = sizeof damaged / sizeof *damaged };

static void test_truncated(void **state) {
  (void)state;
  for (int i = 0; i < DAMAGED; i++) {
    size_t count;
    exr_write(path, damaged[i], 0, 0);
    uint8_t *bytes = file_load(path, &count);
    for (size_t length = 0; length < count; length++) {
      file_store(path, bytes, length);
      expect_refused(path, "");
    }
    free(bytes);
  }
}

// Every byte of the header and of the table of chunks, and every third of the rest, in several ways.
static void test_flipped(void **state) {
  (void)state;
  static const uint8_t masks[] = {0xff, 0x80, 0x01, 0x10};
  unsigned read_count = 0;
  for (int i = 0; i < DAMAGED; i++) {
    size_t count;
    exr_write(path, damaged[i], 0, 0);
    uint8_t *bytes = file_load(path, &count);
    for (size_t at = 0; at < count; at += at < 500 ? 1 : 3) {
      for (size_t mask = 0; mask < sizeof masks; mask++) {
        picture read;
        char text[1000];
        bytes[at] ^= masks[mask];
        file_store(path, bytes, count);
        bool good = read_quietly(path, &read, text, sizeof text);
        bool told = strstr(text, path) && strchr(text, '\n') == text + strlen(text) - 1;
        if (good ? text[0] != '\0' : !told) fail_msg("byte %zu of compression %d: '%s'", at, damaged[i], text);
        if (good && (read.width > PICTURE_MAX_SIDE || read.height > PICTURE_MAX_SIDE)) fail_msg("byte %zu", at);
        read_count += good;
        picture_release(&read);
        bytes[at] ^= masks[mask];
      }
    }
    free(bytes);
  }
  assert_true(read_count > 0); // damage that no one can see
}

// What no display can show.
static void test_strange_numbers(void **state) {
  (void)state;
  size_t count;
  picture read;
  exr_write(path, IMF_NO_COMPRESSION, 0, 0);
  uint8_t *bytes = file_load(path, &count);
  // The last scan line ends with its red numbers.
  const uint16_t numbers[] = {0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x8000, 0xc000, 0x7bff, 0x0001};
  const float expected[] = {65504, 0, 0, 0, 0, 0, 65504, 5.9604644775390625e-8f};
  for (int i = 0; i < 8; i++) {
    bytes[count - 16 + 2 * (size_t)i] = (uint8_t)numbers[i];
    bytes[count - 15 + 2 * (size_t)i] = (uint8_t)(numbers[i] >> 8);
  }
  file_store(path, bytes, count);
  assert_true(picture_read(path, &read));
  for (int i = 0; i < 8; i++) {
    assert_true(read.numbers[3 * (EXR_WIDTH * EXR_HEIGHT - 8 + i)] == expected[i]);
  }
  picture_release(&read);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_compressions), cmocka_unit_test(test_windows),         cmocka_unit_test(test_no_exr),
      cmocka_unit_test(test_other_kinds),  cmocka_unit_test(test_no_pixels),       cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_truncated),    cmocka_unit_test(test_strange_numbers), cmocka_unit_test(test_flipped),
  };
  return cmocka_run_group_tests(tests, create_files, close_files);
}
