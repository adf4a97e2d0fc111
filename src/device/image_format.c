// SPDX-License-Identifier: Apache-2.0
#include "device/image_format.h"

#include <stdio.h>

// clang-format off
static const char *const NAMES[][WEIR__IMAGE_SHAPES] = {
#define NAMES_OF(type) {"r" type, "rg" type, "rgba" type}
  [WEIR_IMAGE_FLOAT32] = NAMES_OF("32f"), [WEIR_IMAGE_FLOAT16] = NAMES_OF("16f"), [WEIR_IMAGE_INT32] = NAMES_OF("32i"),
  [WEIR_IMAGE_UINT32] = NAMES_OF("32ui"), [WEIR_IMAGE_INT16] = NAMES_OF("16i"), [WEIR_IMAGE_UINT16] = NAMES_OF("16ui"),
  [WEIR_IMAGE_INT8] = NAMES_OF("8i"), [WEIR_IMAGE_UINT8] = NAMES_OF("8ui"), [WEIR_IMAGE_UNORM8] = NAMES_OF("8"),
#undef NAMES_OF
};
// clang-format on

const char *weir__image_format_name(weir_image_type type, uint32_t shape) {
  return NAMES[type][shape];
}

uint32_t weir__image_texel_bytes(weir_image_type type, uint32_t shape) {
  static const uint8_t CHANNEL_BYTES[] = {[WEIR_IMAGE_FLOAT32] = 4, [WEIR_IMAGE_FLOAT16] = 2, [WEIR_IMAGE_INT32] = 4,
                                          [WEIR_IMAGE_UINT32] = 4,  [WEIR_IMAGE_INT16] = 2,   [WEIR_IMAGE_UINT16] = 2,
                                          [WEIR_IMAGE_INT8] = 1,    [WEIR_IMAGE_UINT8] = 1,   [WEIR_IMAGE_UNORM8] = 1};
  return CHANNEL_BYTES[type] * (shape == 2 ? 4 : shape + 1);
}

void weir__image_list_formats(bool (*offers)(const void *user, weir_image_type type, uint32_t shape), const void *user,
                              char list[WEIR__IMAGE_LIST_BYTES]) {
  size_t used = 0;
  list[0] = '\0';
  for (uint32_t type = 0; type < WEIR__IMAGE_TYPES; type++) {
    for (uint32_t shape = 0; shape < WEIR__IMAGE_SHAPES && used < WEIR__IMAGE_LIST_BYTES; shape++) {
      if (!offers(user, (weir_image_type)type, shape)) continue;
      used += (size_t)snprintf(list + used, WEIR__IMAGE_LIST_BYTES - used, "%s%s", used == 0 ? "" : ", ",
                               NAMES[type][shape]);
    }
  }
  if (used == 0) snprintf(list, WEIR__IMAGE_LIST_BYTES, "none");
}
