// SPDX-License-Identifier: Apache-2.0
//
// The gradient of an image: colours become grey values in a frame of one more pixel on each side, and those become the sum of
// the absolute horizontal and vertical differences by Sobel's masks, 255 at most. Work-groups handle 64 columns of some rows.
#include <weir/kernel.h>

// Rows of the frame: height + 2, of `stride` numbers each. Columns from 0 to width + 1 are used.
WEIR_KERNEL(sobel_grey, 64, 1, 1,
            (WEIR_BUFFER(const uint32_t, colours), WEIR_BUFFER(int32_t, grey), WEIR_SCALAR(int32_t, width),
             WEIR_SCALAR(int32_t, height), WEIR_SCALAR(int32_t, stride), WEIR_SCALAR(int32_t, rows))) {
  int first = weir_group_id(1) * rows;
  int end = first + rows < height + 2 ? first + rows : height + 2;
  for (int y = first; y < end; y++) {
    int from = y < 1 ? 0 : y > height ? height - 1 : y - 1;
    WEIR_FOR_EACH_ITEM_NOWAIT {
      int x = weir_global_id(0);
      int column = x < 1 ? 0 : x > width ? width - 1 : x - 1;
      uint32_t colour = colours[from * width + column];
      grey[y * stride + x] =
          (int32_t)((77 * (colour & 255) + 151 * (colour >> 8 & 255) + 28 * (colour >> 16 & 255)) >> 8);
    }
  }
}

WEIR_KERNEL(sobel_gradient, 64, 1, 1,
            (WEIR_BUFFER(const int32_t, grey), WEIR_BUFFER(int32_t, gradient), WEIR_SCALAR(int32_t, width),
             WEIR_SCALAR(int32_t, height), WEIR_SCALAR(int32_t, stride), WEIR_SCALAR(int32_t, rows))) {
  int first = weir_group_id(1) * rows;
  int end = first + rows < height ? first + rows : height;
  for (int y = first; y < end; y++) {
    WEIR_FOR_EACH_ITEM_NOWAIT {
      int x = weir_global_id(0);
      int above = y * stride + x;
      int here = above + stride;
      int below = here + stride;
      int across = grey[above + 2] - grey[above] + 2 * (grey[here + 2] - grey[here]) + grey[below + 2] - grey[below];
      int down =
          grey[below] - grey[above] + 2 * (grey[below + 1] - grey[above + 1]) + grey[below + 2] - grey[above + 2];
      int sum = (across < 0 ? -across : across) + (down < 0 ? -down : down);
      gradient[y * width + x] = sum > 255 ? 255 : sum;
    }
  }
}
