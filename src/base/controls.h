// SPDX-License-Identifier: Apache-2.0
//
// Control characters in names that come from files: printed as they are, they would be commands to a terminal.
#ifndef WEIR_BASE_CONTROLS_H
#define WEIR_BASE_CONTROLS_H

#include <stdbool.h>
#include <stddef.h>

// Bytes of the control character that `at` points to, in UTF-8; 0: it is none. The end of the text is none.
static inline size_t weir__control_bytes(const char *at) {
  unsigned char first = (unsigned char)at[0];
  if (first != 0 && (first < 0x20 || first == 0x7f)) return 1;
  return first == 0xc2 && ((unsigned char)at[1] & 0xe0) == 0x80 ? 2 : 0; // U+0080 to U+009F
}

// Puts '?' in the place of each byte of control characters, but for those in `kept`.
static inline void weir__hide_controls(char *text, const char *kept) {
  for (char *at = text; *at != '\0';) {
    size_t bytes = weir__control_bytes(at);
    bool stays = false;
    for (const char *each = kept; *each != '\0'; each++) stays = stays || *each == *at;
    for (size_t i = 0; i < bytes && !stays; i++) at[i] = '?';
    at += bytes == 0 ? 1 : bytes;
  }
}

#endif // WEIR_BASE_CONTROLS_H
