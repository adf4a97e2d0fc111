// SPDX-License-Identifier: Apache-2.0
//
// Formats of images, as all devices name them.
#ifndef WEIR_DEVICE_IMAGE_FORMAT_H
#define WEIR_DEVICE_IMAGE_FORMAT_H

#include <stddef.h>

#include "weir/image.h"

enum { WEIR__IMAGE_TYPES = WEIR_IMAGE_UNORM8 + 1, WEIR__IMAGE_SHAPES = 3, WEIR__IMAGE_LIST_BYTES = 320 };

// Shapes 0, 1, 2 are 1, 2 and 4 channels.
static inline uint32_t weir__image_shape(uint32_t channels) {
  return channels == 4 ? 2 : channels - 1;
}

// "rgba32f".
const char *weir__image_format_name(weir_image_type type, uint32_t shape);

uint32_t weir__image_texel_bytes(weir_image_type type, uint32_t shape);

// "r32f, rg32f": the formats that `offers` says the device has; "none".
void weir__image_list_formats(bool (*offers)(const void *user, weir_image_type type, uint32_t shape), const void *user,
                              char list[WEIR__IMAGE_LIST_BYTES]);

#endif // WEIR_DEVICE_IMAGE_FORMAT_H
