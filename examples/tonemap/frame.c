// SPDX-License-Identifier: Apache-2.0
#include "frame.h"

#include <stdio.h>
#include <string.h>

void frame_move(tone_crop *crop, const picture *in, int frame, int frames) {
  int32_t x = in->width - crop->width, y = in->height - crop->height;
  crop->x = frames > 1 ? (int32_t)((int64_t)x * frame / (frames - 1)) : x / 2;
  crop->y = frames > 1 ? (int32_t)((int64_t)y * frame / (frames - 1)) : y / 2;
}

bool frame_path(const char *out, int frame, int frames, char out_path[FRAME_MAX_PATH]) {
  int stem = (int)(strlen(out) - strlen(".png"));
  int length = frames > 1 ? snprintf(out_path, FRAME_MAX_PATH, "%.*s-%04d.png", stem, out, frame + 1)
                          : snprintf(out_path, FRAME_MAX_PATH, "%s", out);
  if (length >= 0 && length < FRAME_MAX_PATH) return true;
  fprintf(stderr, "tonemap: %s: the name is too long\n", out);
  return false;
}

bool frame_equals(tone_crop crop, const uint8_t *a, uint64_t a_stride, const uint8_t *b) {
  uint64_t row = (uint64_t)crop.width * 3;
  for (uint64_t y = 0; y < (uint64_t)crop.height; y++) {
    if (memcmp(a + y * a_stride, b + y * row, row) != 0) return false;
  }
  return true;
}
