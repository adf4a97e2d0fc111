// SPDX-License-Identifier: Apache-2.0
//
// Parts of `weir info`.
#ifndef WEIR_TOOLS_WEIR_INFO_H
#define WEIR_TOOLS_WEIR_INFO_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

// The machine's Vulkan devices with their families of queues, as JSON (NULL: no memory) and as tables (nothing if there is none).
// False: it could not be written.
json_t *weir__info_vulkan_json(void);
bool weir__info_vulkan_print(FILE *out);

#endif // WEIR_TOOLS_WEIR_INFO_H
