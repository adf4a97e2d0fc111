// SPDX-License-Identifier: Apache-2.0
#include "base/structs.h"

#include <string.h>

#include "base/error.h"

weir_status weir__struct_take(void *own, size_t own_size, const void *given, size_t size, const char *what) {
  memset(own, 0, own_size);
  if (given == NULL) return WEIR_OK;
  memcpy(own, given, size < own_size ? size : own_size);
  for (size_t i = own_size; i < size; i++) {
    if (((const unsigned char *)given)[i] != 0)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                         "%s: a member is set that Weir %s does not have: its struct has %zu bytes here, not %zu", what,
                         weir_version(), own_size, size);
  }
  return WEIR_OK;
}

void weir__struct_give(void *out, size_t size, const void *own, size_t own_size) {
  memcpy(out, own, size < own_size ? size : own_size);
  if (size > own_size) memset((char *)out + own_size, 0, size - own_size);
}
